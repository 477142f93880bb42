"use strict";

const forms = [...document.querySelectorAll("form[data-operation]")];
const choices = document.getElementById("choices");
const samples = [...document.querySelectorAll("[data-sample]")].map((code) => ({ code, text: code.textContent }));

// Returns the request that a form describes. It leaves out empty fields. In the path, the name of an empty field stays.
function describe(form) {
  let path = form.dataset.path;
  const query = [];
  const headers = {};
  let body;
  for (const field of form.querySelectorAll("[data-in]")) {
    const { name, value } = field;
    if (field.dataset.in === "body") {
      headers["Content-Type"] = field.dataset.type;
      body = value;
    } else if (value === "") {
      continue;
    } else if (field.dataset.in === "path") {
      path = path.replace(`{${name}}`, () => encodeURIComponent(value));
    } else if (field.dataset.in === "query") {
      query.push(`${name}=${encodeURIComponent(value)}`);
    } else {
      headers[name] = value;
    }
  }
  const target = query.length > 0 ? `${path}?${query.join("&")}` : path;
  return { method: form.dataset.method, target, headers, body };
}

// Returns the request as HTTP sends it.
function message({ method, target, headers, body }) {
  const lines = [`${method} ${target}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined) lines.push("", body);
  return lines.join("\n");
}

// Quotes a text as one word of a POSIX shell.
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

// Indents JSON and returns any other text unchanged.
function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// Returns the documentation's text about a status.
function meaning(operation, status) {
  const said = document.getElementById(`${operation}-${status}`);
  return said ? said.textContent.trim() : "The documentation does not describe this response.";
}

// Sends a request. Returns the response and its text, or a failure message for the reader.
async function send({ method, target, headers, body }) {
  let request;
  try {
    request = new Request(target, { method, headers, body, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(30000) });
  } catch (error) {
    return { failure: `Not sent: ${error.message}` };
  }
  try {
    const response = await fetch(request);
    return { response, text: await response.text() };
  } catch {
    return { failure: "No response came. If the request changes something, the service may have applied it. Send it again with the same key." };
  }
}

async function tryOperation(form) {
  part(form, "answer").hidden = true;
  say(form, "Waiting for the response");
  const began = performance.now();
  const { failure, response, text } = await send(describe(form));
  if (failure) {
    say(form, failure);
    return;
  }
  part(form, "headers").textContent = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  part(form, "body").textContent = text === "" ? "(empty)" : readable(text);
  part(form, "answer").hidden = false;
  const took = Math.round(performance.now() - began);
  say(form, `${response.status} after ${took} ms. ${meaning(form.dataset.operation, response.status)}`);
}

// Checks the chosen voucher, which changes nothing.
async function checkVoucher() {
  const { shop, code } = choices.elements;
  if (shop.value === "" || code.value === "") {
    say(choices, "Type a shop and a voucher code first.");
    return;
  }
  say(choices, "Waiting for the response");
  const { failure, response, text } = await send({
    method: "POST", target: `/shop/${encodeURIComponent(shop.value)}/voucher?check=true`,
    headers: { "Content-Type": "application/json" }, body: voucherBody(),
  });
  say(choices, failure || `${response.status}: ${text}`);
}

// A random key. crypto.randomUUID is missing on pages served over plain HTTP from another machine.
function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function renewKey(form) {
  const key = form.querySelector("[name=Idempotency-Key]");
  if (key) key.value = newKey();
}

function voucherBody() {
  const { code, nick } = choices.elements;
  const voucher = { code: code.value };
  if (nick.value !== "") voucher.nick = nick.value;
  return JSON.stringify(voucher, null, 2);
}

// Puts the chosen values into the forms and samples. A shop or body that the reader typed in a form is overwritten.
function choose() {
  const { shop, code, nick } = choices.elements;
  for (const field of document.querySelectorAll("[name=customer]")) field.value = shop.value;
  const body = document.getElementById("redeemVoucher-body");
  body.value = code.value === "" ? body.defaultValue : voucherBody();
  // If a value would need escaping in some language, the samples keep their placeholder.
  const safe = (value, placeholder) => (/^[\p{L}\p{N} ._-]+$/u.test(value) ? value : placeholder);
  for (const { code: element, text } of samples) {
    element.textContent = text
      .replaceAll("https://YOUR-DEPLOYMENT", () => location.origin)
      .replaceAll("YOUR-SHOP", () => safe(shop.value, "YOUR-SHOP"))
      .replaceAll("YOUR-CODE", () => safe(code.value, "YOUR-CODE"))
      .replaceAll("YOUR-NICK", () => safe(nick.value, code.value !== "" && nick.value === "" ? "" : "YOUR-NICK"));
  }
  refresh();
}

// Shows the requests that the forms describe.
function refresh() {
  for (const form of forms) {
    const request = describe(form);
    part(form, "curl").textContent = commandLine(request);
    for (const shown of document.querySelectorAll(`[data-request=${form.dataset.operation}]`)) shown.textContent = message(request);
  }
}

// Takes the choices from the fragment of the address, #shop=…&code=…&nick=…, which browsers do not send to the service.
function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const fields = [...choices.querySelectorAll("input")].filter((field) => given.has(field.name));
  for (const field of fields) field.value = given.get(field.name);
  if (fields.length > 0) choose();
}

// Shows the operations that have all words of the filter.
function filter(words) {
  document.getElementById("contents").open = true;
  let matches = 0;
  for (const operation of document.querySelectorAll(".operation")) {
    const text = operation.textContent.toLowerCase();
    operation.hidden = !words.every((word) => text.includes(word));
    document.querySelector(`[data-entry=${operation.id}]`).hidden = operation.hidden;
    if (!operation.hidden) matches++;
  }
  for (const group of document.querySelectorAll("[data-group]")) {
    const operations = [...group.querySelectorAll(".operation, [data-entry]")];
    group.hidden = operations.length > 0 && operations.every((operation) => operation.hidden);
  }
  const found = matches === 1 ? "1 operation" : `${matches} operations`;
  document.getElementById("matches").textContent = words.length > 0 ? found : "";
}

for (const form of forms) {
  form.hidden = false;
  renewKey(form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    // A form without a Send button is for the shop's server only, but Enter still submits it.
    if (event.submitter) tryOperation(form);
  });
  form.addEventListener("click", (event) => {
    if (event.target.dataset.action !== "new-key") return;
    renewKey(form);
    refresh();
    say(form, "The next request is a new one.");
  });
  form.addEventListener("input", refresh);
}

choices.hidden = false;
choices.addEventListener("input", choose);
choices.addEventListener("submit", (event) => {
  event.preventDefault();
  checkVoucher();
});
addEventListener("hashchange", readAddress);
choose();
readAddress();

// On a small screen the table of contents is closed at first, so that the page begins with its text.
document.getElementById("contents").open = matchMedia("(min-width: 60rem)").matches;
document.getElementById("search").hidden = false;
document.getElementById("filter").addEventListener("input", ({ target }) => {
  filter(target.value.toLowerCase().split(/\s+/).filter((word) => word !== ""));
});
