"use strict";

const forms = [...document.querySelectorAll("form")];

// The request that a form describes. What is empty is not sent, except in the path.
function describe(form) {
  let path = form.dataset.path;
  const query = [];
  const headers = {};
  let body;
  for (const field of form.querySelectorAll("[data-in]")) {
    const { name, value } = field;
    if (field.dataset.in === "path") {
      path = path.replace(`{${name}}`, () => encodeURIComponent(value));
    } else if (field.dataset.in === "body") {
      headers["Content-Type"] = field.dataset.type;
      body = value;
    } else if (value !== "" && field.dataset.in === "query") {
      query.push(`${name}=${encodeURIComponent(value)}`);
    } else if (value !== "") {
      headers[name] = value;
    }
  }
  const target = query.length > 0 ? `${path}?${query.join("&")}` : path;
  return { method: form.dataset.method, target, headers, body };
}

// A text as one word of a POSIX shell.
function quote(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function commandLine({ method, target, headers, body }) {
  const words = ["curl -i"];
  if (method !== "GET") words.push(`-X ${method}`);
  words.push(quote(location.origin + target));
  let line = words.join(" ");
  for (const [name, value] of Object.entries(headers)) line += ` \\\n  -H ${quote(`${name}: ${value}`)}`;
  if (body !== undefined) line += ` \\\n  --data-raw ${quote(body)}`;
  return line;
}

function part(form, name) {
  return form.querySelector(`[data-is=${name}]`);
}

function say(form, text) {
  form.querySelector("[role=status]").textContent = text;
}

// The text as it is, unless it is JSON.
function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// What the documentation says of an answer with that status.
function meaning(form, status) {
  const said = document.getElementById(`${form.dataset.operation}-${status}`);
  return said ? said.textContent.trim() : "The documentation does not know this answer.";
}

async function send(form) {
  part(form, "answer").hidden = true;
  const { method, target, headers, body } = describe(form);
  let request;
  try {
    request = new Request(target, { method, headers, body, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(30000) });
  } catch (error) {
    say(form, `Not sent: ${error.message}`);
    return;
  }
  say(form, "Waiting for the answer");
  const began = performance.now();
  try {
    const answer = await fetch(request);
    const text = await answer.text();
    part(form, "headers").textContent = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    part(form, "body").textContent = text === "" ? "(empty)" : readable(text);
    part(form, "answer").hidden = false;
    say(form, `${answer.status} after ${Math.round(performance.now() - began)} ms. ${meaning(form, answer.status)}`);
  } catch {
    say(form, "No answer came. Whether the request was applied is unknown: send it again with the same key.");
  }
}

// Without crypto.randomUUID, which pages from other machines over plain HTTP do not have.
function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function renewKey(form) {
  const key = form.querySelector("[name=Idempotency-Key]");
  if (key) key.value = newKey();
}

function refresh() {
  for (const form of forms) part(form, "curl").textContent = commandLine(describe(form));
}

for (const form of forms) {
  form.hidden = false;
  renewKey(form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form);
  });
  form.addEventListener("click", (event) => {
    if (event.target.dataset.action !== "new-key") return;
    renewKey(form);
    refresh();
    say(form, "The next request is a new one.");
  });
  form.addEventListener("input", ({ target }) => {
    // Who tries one operation for a customer wants the others for the same.
    if (target.name === "customer") {
      for (const other of document.querySelectorAll("[name=customer]")) other.value = target.value;
    }
    refresh();
  });
}
refresh();

for (const code of document.querySelectorAll("#examples code")) {
  code.textContent = code.textContent.replaceAll("https://YOUR-DEPLOYMENT", location.origin);
}
