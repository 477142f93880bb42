"use strict";

// A request that redeems or checks out has a key, which is stored before the request is sent, and removed once the outcome is known.
// So a lost response or a reload neither loses nor repeats the request.

const { customer, currency, paymentUrl, paymentText } = document.body.dataset;
const language = document.documentElement.lang;
const base = `/shop/${customer}`;
const texts = JSON.parse(document.getElementById("texts").textContent);
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

function say(key, values = {}) {
  return texts[key].replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// Texts are never read as HTML.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (attribute === "onclick") made.addEventListener("click", value);
    else if (value !== undefined && value !== false) made.setAttribute(attribute, value === true ? "" : value);
  }
  made.append(...children.filter(Boolean));
  return made;
}

const paragraph = (text, attributes) => element("p", attributes, text);
const button = (text, onclick, attributes) => element("button", { type: "button", onclick, ...attributes }, text);
const busy = (key) => paragraph(say(key), { role: "status" });
const alarm = (text) => paragraph(text, { class: "bad", role: "alert" });
const buttons = (...children) => element("p", { class: "buttons" }, ...children);
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// ---- Prices, times

function formatPrice(decimal, of = currency) {
  const fraction = (decimal.split(".")[1] ?? "").length;
  return formatNumber(decimal, { style: "currency", currency: of, minimumFractionDigits: fraction, maximumFractionDigits: fraction });
}

// display is, for example, "4.99 EUR".
const formatMoney = ({ display }) => formatPrice(...display.split(" "));

const formatNumber = (number, options) => new Intl.NumberFormat(language, options).format(number);

const formatMinutes = (seconds) => formatNumber(Math.max(1, Math.round(seconds / 60)), { style: "unit", unit: "minute", unitDisplay: "long" });

// ---- Requests

// An outcome is {ok: true, body}; {problem, body, wait} if the service refused (problem is the end of the type); or {unknown: true} if
// every attempt failed.
const attemptTimeout = 10_000;
const patience = 45_000;
const settleTime = 10_000; // a lost attempt may be applied up to this long after it was sent

async function attempt(target, { method = "GET", key, json } = {}) {
  const headers = {};
  if (key) headers["Idempotency-Key"] = key;
  if (json) headers["Content-Type"] = "application/json";
  try {
    const response = await fetch(target, {
      method, headers, body: json && JSON.stringify(json), cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(attemptTimeout),
    });
    const body = await response.json();
    const header = (name) => response.headers.get(name);
    return { status: response.status, body, wait: Number(header("Retry-After")), at: Date.parse(header("Date")) || Date.now(), id: header("Request-Id") };
  } catch {
    return { status: 0 }; // lost, or never sent: the script cannot tell
  }
}

// settle retries until the outcome is known, or patience ends. lostAt is when an attempt without a known outcome was last sent.
async function settle(target, request = {}, { lostAt = 0, sending = () => {}, waiting = () => {} } = {}) {
  const begun = Date.now();
  for (let delay = 500; ; delay = Math.min(delay * 2, 5_000)) {
    const sent = Date.now();
    lostAt = Math.min(lostAt, sent); // the clock may have been set back
    const answer = await attempt(sending() ?? target, request);
    const { status, body } = answer;
    const problem = body?.type?.split(":").pop();
    if (status === 200) return { ok: true, ...answer };
    // 401 and 429 do not tell whether an earlier attempt was applied.
    if (problem && (status === 429 || status === 401)) return { problem, ...answer, lost: lostAt > 0 };
    const isRefused = status > 0 && status < 500 && status !== 429;
    if (isRefused && (sent - lostAt >= settleTime || problem === "redemption-undone")) return { problem: problem ?? "unexpected", ...answer };
    if (status === 0 || status >= 500) lostAt = request.key ? sent : 0;
    if (Date.now() - begun > patience) return { unknown: true, id: answer.id };
    waiting();
    // Each refused code counts towards the shop's limit, so retry a refusal once, after settleTime.
    await pause(Math.min(settleTime, Math.max(delay, (answer.wait || 0) * 1000, isRefused ? lostAt + settleTime - Date.now() : 0)));
  }
}

// ---- Unfinished requests, in local storage: nothing else is stored

const storagePrefix = `shopfront/${customer}/`;
const storage = findStorage();

// If the browser forbids storage, entries last until a reload.
function findStorage() {
  try {
    Object.keys(localStorage); // throws if it is null
    return localStorage;
  } catch {
    return Object.create({
      getItem(name) { return this[name]; },
      setItem(name, value) { this[name] = value; },
      removeItem(name) { delete this[name]; },
    });
  }
}

function pending() {
  const found = [];
  for (const name of Object.keys(storage)) {
    if (!name.startsWith(storagePrefix)) continue;
    try {
      const entry = { ...JSON.parse(storage.getItem(name)), key: name.slice(storagePrefix.length) };
      // The checkout has expired, and its data may be personal.
      if (entry.target && Date.now() - entry.sentAt > 86_400_000) forget(entry);
      else found.push(entry);
    } catch {
      storage.removeItem(name);
    }
  }
  return found.sort((a, b) => b.sentAt - a.sentAt);
}

function keep({ key, ...entry }) {
  try {
    storage.setItem(storagePrefix + key, JSON.stringify(entry));
  } catch {
    // Storage is full: send the request all the same.
  }
}

const kept = ({ key }) => pending().find((entry) => entry.key === key);
const forget = ({ key }) => storage.removeItem(storagePrefix + key);

// finish sends a pending request until its outcome is known. Until then the entry stays stored.
async function finish(entry, target, request, waiting) {
  const outcome = await settle(target, { ...request, key: entry.key }, {
    lostAt: entry.sentAt, waiting,
    sending() {
      entry.sentAt = Date.now();
      if (!kept(entry)?.id) keep(entry); // with an ID, another tab has the response
      const paid = pending().find(({ id, paying }) => paying && target.endsWith(id)); // in payment by now: keep it
      return target.replace(`&replaces=${paid?.id}`, "");
    },
  });
  if (outcome.problem && !outcome.lost) forget(entry);
  return outcome;
}

function failureText(outcome, texts = {}) {
  if (outcome.unknown) return say("unknownOutcome");
  if (texts[outcome.problem]) return texts[outcome.problem];
  if (outcome.status === 429) return say(outcome.problem === "too-many-holds" ? "tooManyHolds" : "tooMany", { minutes: formatMinutes(outcome.wait || 60) });
  if (outcome.problem === "unauthorized") return say("notAllowed");
  return say("failed", { id: outcome.id ?? "" });
}

function show(region, ...children) {
  region.replaceChildren(...children);
  region.focus();
}

// ---- What is on sale

function localise(root) {
  for (const price of $$("data", root)) price.textContent = formatPrice(price.value);
  for (const time of $$("time", root)) {
    time.textContent = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(new Date(time.dateTime));
  }
  for (const image of $$("img", root)) {
    if (image.complete && image.naturalWidth === 0 && image.loading !== "lazy") replaceImage(image);
    image.addEventListener("error", () => replaceImage(image));
  }
}

function replaceImage(image) {
  if (image.matches(".logo")) image.replaceWith(image.alt);
  else {
    const name = $("h3", image.parentElement).textContent;
    image.replaceWith(element("div", { class: "picture", "aria-hidden": "true" }, [...name][0]));
  }
}

async function loadMore() {
  const more = $("#more");
  more.setAttribute("aria-busy", "true");
  $("#more-failed")?.remove();
  let page;
  try {
    const response = await fetch(more.href, { credentials: "omit", signal: AbortSignal.timeout(attemptTimeout) });
    if (!response.ok) throw new Error(response.status);
    page = new DOMParser().parseFromString(await response.text(), "text/html");
  } catch (failure) {
    more.removeAttribute("aria-busy");
    more.after(paragraph(say("moreFailed"), { id: "more-failed", role: "alert" }));
    throw failure;
  }
  localise(page);
  const first = $(".product h3", page);
  const known = new Set($$(".product").map((product) => product.dataset.product));
  for (const section of $$(".category", page)) {
    const products = $$(".product", section).filter((product) => !known.has(product.dataset.product));
    const here = $$(".category").find((existing) => existing.dataset.category === section.dataset.category);
    if (here) $(".products", here).append(...products);
    else $("#products").append(section);
  }
  const next = $("#more", page);
  if (next) more.replaceWith(next);
  else more.parentElement.remove();
  return first;
}

function find(product, variant) {
  const card = $(`.product[data-product="${product}"]`); // IDs have no quotes
  const row = card && $(`[data-variant="${variant}"]`, card);
  return row && { card, row, product: $("h3", card).textContent, variant: $(".name", row).textContent };
}

// nameOf names a variant. It loads products until it finds the variant. A variant off sale is named by its IDs.
async function nameOf(product, variant) {
  try {
    while (!find(product, variant) && $("#more")) await loadMore();
  } catch {
    // Show the IDs.
  }
  const found = find(product, variant);
  return found ? `${found.product}, ${found.variant}` : `${product}, ${variant}`;
}

// ---- Vouchers

let lastNick = "";
let discountCode = "";
let shown; // the check or the unfinished redemption in #voucher-result

// Compare codes and nicks as the service does.
const normalise = (text) => text.normalize("NFKC").toUpperCase();
const normaliseCode = (code) => normalise(code).replace(/[^A-Z0-9]/g, "").replace(/O/g, 0).replace(/[IL]/g, 1);

async function rewardList(reward) {
  const items = reward.kind === "bundle" ? reward.items : [reward];
  const list = element("ul", { class: "reward" });
  for (const { product, variant, amount } of items) {
    list.append(element("li", { dir: "auto" }, `${formatNumber(amount)} × ${await nameOf(product, variant)}`));
  }
  return list;
}

function discountOf(reward) {
  if (reward.kind === "percent_off") return formatNumber(reward.percentOff / 100, { style: "percent", maximumFractionDigits: 2 });
  if (reward.kind === "amount_off") return formatMoney(reward.amountOff);
}

async function checkVoucher(form) {
  const code = form.code.value.trim();
  const nick = form.nick.value.trim();
  const result = $("#voucher-result");
  lastNick = nick;
  if (code === "") {
    showFieldError(form.code, say("codeMissing"));
    form.code.focus();
    return;
  }
  const mine = (shown = {});
  showPending();
  const unfinished = pending().find((entry) => entry.kind === "redeem" && normaliseCode(entry.code) === normaliseCode(code) && normalise(entry.nick) === normalise(nick));
  if (unfinished) return redeemVoucher(unfinished);
  result.replaceChildren(busy("checking"));
  const outcome = await settle(`${base}/voucher?check=true`, { method: "POST", json: { code, nick } });
  if (shown !== mine) return;
  if (!outcome.ok) return show(result, voucherFailure(outcome));
  const { reward } = outcome.body;
  const discount = discountOf(reward);
  if (discount) {
    return show(result, paragraph(say("discountOffer", { discount })), button(say("discountUse"), () => {
      discountCode = outcome.body.code;
      show(result, paragraph(say("discountReady", { code: discountCode }), { class: "good", dir: "auto" }));
    }));
  }
  const list = await rewardList(reward);
  if (shown !== mine) return;
  show(result, paragraph(say("gives", { code: outcome.body.code }), { dir: "auto" }), list, buttons(
    button(say("redeem"), () => redeemVoucher({ kind: "redeem", key: crypto.randomUUID(), code, nick, sentAt: 0 }), { class: "primary" }),
    button(say("cancel"), () => {
      result.replaceChildren();
      form.code.focus();
    })));
}

function voucherFailure(outcome) {
  return alarm(failureText(outcome, {
    "voucher-not-found": say("codeUnknown"), "redemption-undone": say("undone"), invalid: say(outcome.body?.pointer === "/nick" ? "nickTooLong" : "codeUnknown"),
  }));
}

async function redeemVoucher(entry) {
  const result = $("#voucher-result");
  shown = entry;
  showPending();
  show(result, busy("redeeming"));
  const { code, nick } = entry;
  const outcome = await finish(entry, `${base}/voucher`, { method: "POST", json: { code, nick } },
    () => shown === entry && result.replaceChildren(busy("waiting")));
  if (outcome.ok) {
    const list = await rewardList(outcome.body.reward);
    forget(entry);
    show(result, paragraph(say("redeemed"), { class: "good" }), list);
    if (shown === entry) $("#voucher").reset();
  } else if (shown === entry) { // otherwise the shopper has gone on to another code
    show(result, voucherFailure(outcome), outcome.unknown || outcome.lost ? button(say("again"), () => redeemVoucher(entry)) : "");
  }
  showPending();
}

// ---- Forms from data schemas

function resolve(schema, root) {
  for (let depth = 0; schema.$ref && depth < 16; depth++) {
    const { $ref, ...rest } = schema;
    const target = $ref.startsWith("#/") && $ref.slice(2).split("/").reduce((at, token) => at?.[decodeURIComponent(token).replaceAll("~1", "/").replaceAll("~0", "~")], root);
    schema = { ...target, ...rest };
  }
  return Object(schema); // a schema may be true
}

function humanise(name) {
  const words = name.replace(/([a-z])([A-Z])/g, "$1 $2").replace(/[-_]+/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const autocompletes = { name: "name", email: "email", street: "street-address", postcode: "postal-code", city: "address-level2", country: "country" };

let fieldCount = 0;

function labelled(control, label, help = "") {
  control.id = `field-${++fieldCount}`;
  control.setAttribute("aria-describedby", `${control.id}-help ${control.id}-error`);
  const isGroup = control.tagName === "FIELDSET";
  const name = element(isGroup ? "legend" : "label", { for: !isGroup && control.id, dir: "auto" }, label);
  const rest = [element("span", { class: "help", id: `${control.id}-help`, dir: "auto" }, help), element("span", { class: "error", id: `${control.id}-error` })];
  if (isGroup) {
    control.prepend(name);
    control.append(...rest);
    return control;
  }
  return element("p", { class: control.type === "checkbox" ? "field check" : "field" }, name, control, ...rest);
}

function showFieldError(control, message) {
  control.setAttribute("aria-invalid", message !== "");
  document.getElementById(`${control.id}-error`).textContent = message;
}

function faultOf({ validity, min, max }) {
  if (validity.badInput) return say("notNumber");
  if (validity.valueMissing) return say("required");
  if (validity.rangeUnderflow) return say("atLeast", { n: min });
  if (validity.rangeOverflow) return say("atMost", { n: max });
  if (validity.stepMismatch) return say("notInteger");
  return "";
}

// JSON Schema counts characters. HTML would count UTF-16 units.
function stringFault({ minLength = 0, maxLength = Infinity, pattern = "" }, text) {
  const length = [...text].length;
  if (length < minLength) return say("tooShort", { n: minLength });
  if (length > maxLength) return say("tooLong", { n: maxLength });
  try {
    return new RegExp(pattern, "u").test(text) ? "" : say("pattern");
  } catch {
    return ""; // a pattern that only Go knows: the service checks it
  }
}

function listFault({ minItems = 0, maxItems = Infinity, uniqueItems }, values) {
  if (values.length < minItems) return say("itemsMin", { n: minItems });
  if (values.length > maxItems) return say("itemsMax", { n: maxItems });
  return uniqueItems && new Set(values).size < values.length ? say("itemsUnique") : "";
}

const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const linesOf = ({ value }) => value.split("\n").map((line) => line.trim()).filter(Boolean);

// makeField makes a field: its node, its control, fault() for what HTML cannot check, and read(), which returns undefined for no value.
function makeField(schema, root, pointer, name, required) {
  const title = schema.title ?? humanise(name);
  const field = (control, read, fault = () => "", help = schema.description, label = required ? title : `${title} (${say("optional")})`) => {
    control.dataset.pointer = pointer;
    return { pointer, control, fault, node: labelled(control, label, help), read: () => (control.value === "" ? undefined : read()) };
  };
  const input = (tag, attributes) => {
    const control = element(tag, { autocomplete: autocompletes[name.toLowerCase()] ?? "off", required, ...attributes });
    if (schema.default !== undefined && tag !== "select") control.value = [schema.default].flat().map(asText).join("\n");
    return control;
  };
  const choices = schema.enum ?? ("const" in schema ? [schema.const] : undefined);
  if (choices) {
    const control = input("select", {});
    control.append(element("option", { value: "" }, required ? say("choose") : "–"),
      ...choices.map((choice, i) => element("option", { value: i, selected: choice === schema.default }, asText(choice))));
    return field(control, () => choices[control.value]);
  }
  switch (schema.type) {
    case "boolean": {
      const control = input("input", { type: "checkbox", required: false });
      control.checked = schema.default === true;
      control.value = "on";
      return field(control, () => (control.checked || required || schema.default ? control.checked : undefined), undefined, undefined, title);
    }
    case "string": {
      const control = input(schema.maxLength > 120 ? "textarea" : "input", {});
      return field(control, () => control.value, () => control.value && stringFault(schema, control.value));
    }
    case "integer":
    case "number": {
      const { minimum: min, maximum: max, exclusiveMinimum: above = -Infinity, exclusiveMaximum: below = Infinity, multipleOf } = schema;
      const control = input("input", { type: "number", min, max, step: "any" });
      const fault = () => {
        const { value } = control;
        if (value === "") return "";
        if (schema.type === "integer" && value % 1) return say("notInteger");
        if (multipleOf && Math.abs(value / multipleOf - Math.round(value / multipleOf)) > 1e-9) return say("multipleOf", { n: multipleOf });
        return value <= above ? say("moreThan", { n: above }) : value >= below && say("lessThan", { n: below });
      };
      return field(control, () => Number(control.value), fault);
    }
    case "array": {
      const items = resolve(schema.items ?? {}, root);
      if (items.enum) return choiceField(schema, items.enum, field, required);
      if (items.type !== "string") break;
      const control = input("textarea", { rows: 3 });
      const fault = () => (linesOf(control)[0] || required) && (listFault(schema, linesOf(control)) || linesOf(control).map((line) => stringFault(items, line)).find(Boolean));
      return field(control, () => linesOf(control), fault, `${schema.description ?? ""} (${say("lines")})`);
    }
    case "object": {
      if (!schema.properties || pointer.split("/").length > 4) break; // a schema may contain itself
      const inner = makeFields(schema, root, pointer, required);
      return { pointer, inner, node: element("fieldset", {}, element("legend", { dir: "auto" }, title), ...inner.nodes), read: () => inner.read(required) };
    }
  }
  // The shopper types other values as JSON.
  const control = input("textarea", {});
  return field(control, () => JSON.parse(control.value), () => {
    try {
      return control.value && JSON.parse(control.value) && "";
    } catch {
      return say("json");
    }
  }, `${schema.description ?? ""} (JSON)`);
}

function choiceField(schema, choices, field, required) {
  const boxes = choices.map((choice, i) => element("input", { type: "checkbox", value: i, id: `field-${++fieldCount}`, checked: schema.default?.includes(choice) }));
  const group = element("fieldset", { tabindex: "-1" },
    ...boxes.map((box, i) => element("span", { class: "check" }, box, element("label", { for: box.id, dir: "auto" }, asText(choices[i])))));
  const read = () => {
    const values = choices.filter((_, i) => boxes[i].checked);
    return values.length > 0 || required ? values : undefined;
  };
  return field(group, read, () => (read() ? listFault(schema, read()) : ""));
}

// makeFields makes the fields of an object. Only the service checks what an optional object requires, because the object may stay empty.
function makeFields(schema, root, pointer, required) {
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) => [name,
    makeField(resolve(property, root), root, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, name, required && schema.required?.includes(name))]);
  return {
    nodes: fields.map(([, { node }]) => node),
    all: fields.flatMap(([, field]) => field.inner?.all ?? [field]),
    read(isRequired) {
      const value = fields.map(([name, field]) => [name, field.read()]).filter(([, read]) => read !== undefined);
      return value.length > 0 || isRequired ? Object.fromEntries(value) : undefined;
    },
  };
}

// ---- Checkout

const dialog = $("#purchase");

function setState(state, children, title = say(state)) {
  dialog.dataset.state = state;
  const heading = element("h2", { id: "purchase-title", tabindex: "-1", dir: "auto" }, title);
  dialog.replaceChildren(element("div", { class: "head" }, heading, button("×", () => dialog.close(), { class: "close", "aria-label": say("close") })), ...children.filter(Boolean));
  if (!dialog.open) dialog.showModal();
  heading.focus();
}

let lastForm; // with what the shopper has typed

function openForm(row) {
  const card = row.closest(".product");
  const { min, max } = row.dataset;
  const { nickFrom } = card.dataset;
  const schema = row.dataset.schema && JSON.parse(row.dataset.schema);
  const form = element("form", { id: "checkout", novalidate: true });
  const amount = element("input", { name: "amount", type: "number", min, max, required: true, value: min, autocomplete: "off" });
  const note = element("textarea", { name: "data", autocomplete: "off" });
  const code = element("input", { name: "code", value: discountCode, maxlength: 80, autocomplete: "off", autocapitalize: "characters" });
  const nick = element("input", { name: "nick", value: nickFrom ? "" : lastNick, maxlength: 128, autocomplete: "nickname" });
  if (min !== max) form.append(labelled(amount, say("amount"), say("amountRange", { min, max })));
  const fields = schema ? makeFields(schema, schema, "", true) : { all: [], nodes: [labelled(note, say("note"))], read: () => undefined };
  form.append(...fields.nodes);
  if ($("#redeem")) form.append(labelled(code, say("codeOptional")), nickFrom ? "" : labelled(nick, say("nick")));
  const result = element("div", { id: "checkout-result", tabindex: "-1" });
  form.append(buttons(element("button", { class: "primary" }, say("checkOut"))), result);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (isValid(form, fields)) submitCheckout({ form, row, card, schema, amount, fields, note, nick, code, result });
  });
  const { product, variant } = find(card.dataset.product, row.dataset.variant);
  lastForm = { row, show };
  show();

  function show() {
    watching = undefined;
    result.replaceChildren();
    setState("form", [$(".cost", row).cloneNode(true), form], say("checkoutTitle", { product: `${product}, ${variant}` }));
  }
}

// isValid shows what is wrong at each field, and moves the focus to the first.
function isValid(form, fields) {
  for (const { control, fault } of fields.all) control.fault = fault();
  for (const control of $$("[aria-describedby]", form)) showFieldError(control, control.fault || faultOf(control));
  const wrong = $('[aria-invalid="true"]', form);
  wrong?.focus();
  return !wrong;
}

async function submitCheckout(purchase) {
  const { form, row, card, schema, amount, fields, note, nick, code, result } = purchase;
  const query = new URLSearchParams({ amount: amount.value });
  for (const [name, value] of [["data", schema ? JSON.stringify(fields.read(true)) : note.value], ["code", code.value.trim()], ["nick", nick.value.trim()]]) {
    if (value !== "") query.set(name, value);
  }
  // Replace an open checkout to free its code, unless it may be in payment: then it must stay orderable.
  const replaced = !purchase.alone && pending().find((entry) => entry.id && !entry.paying);
  if (replaced) query.set("replaces", replaced.id);
  const target = `${base}/checkout/${card.dataset.product}/${row.dataset.variant}?${query}`;
  const submit = $(".primary", form);
  submit.disabled = true;
  show(result, busy("checkingOut"));
  // After an unknown outcome, the same request keeps its key.
  const entry = pending().find((unfinished) => unfinished.target === target) ?? { kind: "checkout", key: crypto.randomUUID(), target, sentAt: 0 };
  const outcome = await finish(entry, target, {}, () => result.replaceChildren(busy("waiting")));
  submit.disabled = false;
  if (outcome.ok) {
    await showNewCheckout(entry, outcome);
  } else if (outcome.body?.parameter === "replaces") {
    await submitCheckout({ ...purchase, alone: true }); // it has been ordered or replaced
  } else {
    showCheckoutFault(purchase, outcome);
  }
}

function showCheckoutFault({ schema, fields, amount, note, nick, code, result }, outcome) {
  const { parameter, pointer = "" } = outcome.body ?? {};
  let control;
  if (outcome.problem === "code-refused") control = code;
  else if (outcome.problem === "invalid" && parameter === "data") {
    // Find the field at or above the pointer (/names for /names/1), or else the first below it.
    const isAt = (a, b) => `${a}/`.startsWith(`${b}/`);
    const field = fields.all.find((field) => isAt(pointer, field.pointer)) ?? (pointer && fields.all.find((field) => isAt(field.pointer, pointer)));
    control = schema ? field?.control : note;
  } else if (outcome.problem === "invalid") control = { amount, nick }[parameter];
  const message = say(outcome.problem === "code-refused" ? "codeRefused" : control === nick ? "nickTooLong" : "wrong");
  if (control?.isConnected) {
    result.replaceChildren();
    showFieldError(control, message);
    control.focus();
    return;
  }
  show(result, alarm(failureText(outcome, { "not-found": say("soldOut"), invalid: say("wrong") })));
}

// showNewCheckout shows the checkout, and stores it instead of its request, whose data may be personal.
async function showNewCheckout(entry, outcome) {
  const { target, ...request } = entry;
  pending().filter((other) => !other.paying && target.endsWith(`&replaces=${other.id}`)).forEach(forget);
  // Without a payment page the shopper may pay at any time.
  const rest = { ...request, id: outcome.body.id, paying: kept(entry)?.paying || !paymentUrl };
  keep(rest);
  const row = find(outcome.body.product, outcome.body.variant)?.row;
  const shownPrice = row && $(".price", row).value;
  const [newPrice] = outcome.body.unitPrice.display.split(" ");
  await showCheckout(rest, outcome, shownPrice && shownPrice !== newPrice ? say("priceChanged", { old: formatPrice(shownPrice), new: formatPrice(newPrice) }) : "");
  if (shownPrice && shownPrice !== newPrice) {
    $(".price", row).value = newPrice;
    localise(row);
  }
}

async function summary({ product, variant, amount, unitPrice, subtotal, discount, total, code }) {
  const row = (name, value, attributes) => [element("dt", {}, name), element("dd", { dir: "auto", ...attributes }, value)];
  return element("dl", { class: "summary" },
    ...row(say("item"), `${formatNumber(amount)} × ${await nameOf(product, variant)}`),
    ...row(say("price"), (amount > 1 ? `${formatMoney(unitPrice)} × ${formatNumber(amount)} = ` : "") + formatMoney(subtotal)),
    ...(discount.minor > 0 ? row(`${say("discount")} ${code ?? ""}`, `−${formatMoney(discount)}`, { class: "discount" }) : []),
    ...row(say("total"), formatMoney(total), { class: "total" }));
}

let watching; // the checkout that the dialog shows, and polls for

function paymentLink(entry, total) {
  if (!paymentUrl) return "";
  const back = new URL("#paid", location);
  back.search = /[?&](lang=\w+)/.exec(location.search)?.[1] ?? "";
  const href = paymentUrl.replace(/\{(checkout|return)\}/g, (_, name) => encodeURIComponent(name === "checkout" ? entry.id : back));
  const link = element("a", { id: "pay", class: "button primary", href }, say(total.minor ? "pay" : "confirm", { total: formatMoney(total) }));
  for (const event of ["click", "auxclick", "contextmenu"]) {
    link.addEventListener(event, ({ ctrlKey, metaKey }) => {
      startPayment(entry);
      entry.elsewhere = event !== "click" || ctrlKey || metaKey; // not stored; the other tab forgets the entry
    });
  }
  return link;
}

function startPayment(entry) {
  entry.paying = true;
  entry.sentAt = Date.now(); // a returning shopper has paid the newest
  keep(entry);
}

async function showCheckout(entry, outcome, notice = "") {
  entry.paying ||= kept(entry)?.paying; // set in another tab
  const mine = (watching = { entry });
  const { body } = outcome;
  const details = await summary(body);
  if (watching !== mine) return;
  const isOpen = body.status === "open";
  // Keep watching a checkout for which a payment may arrive late.
  if (!isOpen && !entry.elsewhere && !(body.status === "expired" && entry.paying)) forget(entry);
  showPending();
  const number = paragraph(say(body.status === "ordered" ? "orderNumber" : "number", body), { class: "number" });
  if (body.status === "ordered") {
    setState("ordered", [details, number]);
    return;
  }
  if (!isOpen) {
    setState("expired", [paragraph(say("expiredHelp")), details, number]);
    if (kept(entry)) watch(mine, body.status);
    return;
  }
  const ends = Date.now() + Date.parse(body.expiresAt) - outcome.at;
  const minutes = paragraph("", { class: "minutes" });
  const choices = [paymentLink(entry, body.total)];
  const row = find(body.product, body.variant)?.row;
  if (row && !entry.paying) choices.push(button(say("change"), () => (lastForm?.row === row ? lastForm.show() : openForm(row))));
  choices.push(button(say("discard"), () => {
    forget(entry);
    dialog.close();
  }));
  const state = entry.paying && paymentUrl ? "paying" : "open";
  setState(state, [notice && paragraph(notice, { class: "note", role: "alert" }), entry.paying && paragraph(say("payingHelp")), details,
    (paymentText || !paymentUrl) && element("div", { class: "how" }, element("h3", {}, say("howToPay")), paragraph(paymentText.replaceAll("{number}", body.number) || say("askShop"), { dir: "auto", class: "pre" }), number),
    minutes, buttons(...choices)]);
  watch(mine, body.status, ends, () => (minutes.textContent = say("minutesLeft", { minutes: formatMinutes((ends - Date.now()) / 1000) })));
}

// watch updates the minutes and asks for the status: often while the checkout may be in payment, otherwise when it expires.
async function watch(mine, status, ends = 0, tick = () => {}) {
  for (let wait = 2_000; watching === mine; wait = Math.min(wait * 1.2, 15_000)) {
    tick();
    await pause(wait);
    if (document.hidden) wait = 1_000; // to ask as soon as the shopper is back
    if (watching !== mine || document.hidden || (!mine.entry.paying && Date.now() < ends)) continue;
    const outcome = await settle(`${base}/checkouts/${mine.entry.id}`);
    if (watching === mine && (outcome.ok ? outcome.body.status !== status : outcome.problem === "not-found")) await showOutcome(mine.entry, outcome);
  }
}

async function showOutcome(entry, outcome) {
  if (outcome.ok) return showCheckout(entry, outcome);
  if (outcome.problem === "not-found" || outcome.problem === "idempotency-key-in-use") {
    forget(entry);
    return setState("expired", [paragraph(say("gone"))]);
  }
  showPending();
  return setState("open", [alarm(failureText(outcome, { "code-refused": say("codeRefused"), invalid: say("gone") })),
    kept(entry) && buttons(button(say("again"), () => resume(entry), { class: "primary" }))]);
}

async function resume(entry) {
  setState("open", [busy("checking")]);
  if (entry.id) return showOutcome(entry, await settle(`${base}/checkouts/${entry.id}`));
  const outcome = await finish(entry, entry.target);
  return outcome.ok ? showNewCheckout(entry, outcome) : showOutcome(entry, outcome);
}

// ---- What is unfinished

function showPending() {
  const region = $("#pending");
  region.replaceChildren();
  for (const entry of pending()) {
    const isCheckout = entry.kind === "checkout";
    if (isCheckout ? !dialog : !$("#redeem") || entry.key === shown?.key) continue;
    region.append(element("p", { class: "note" }, isCheckout ? say("openCheckout") : say("unfinished", { code: entry.code }), " ",
      button(say(isCheckout ? "continue" : "again"), () => (isCheckout ? resume : redeemVoucher)(entry)),
      isCheckout ? button(say("discard"), () => {
        forget(entry);
        showPending();
      }) : ""));
  }
}

function start() {
  localise(document);
  document.addEventListener("click", (event) => {
    const buy = event.target.closest(".buy");
    if (buy) openForm(buy.closest(".variant"));
    if (event.target.closest("#more")) {
      event.preventDefault();
      loadMore().then((first) => first?.focus(), () => {});
    }
  });
  const form = $("#voucher");
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    showFieldError(form.code, "");
    checkVoucher(form);
  });
  dialog?.addEventListener("close", () => {
    watching = undefined;
    showPending();
  });
  showPending();
  if (location.hash !== "#paid") return;
  history.replaceState(null, "", location.href.split("#")[0]);
  const paid = dialog && (pending().find((entry) => entry.paying) ?? pending().find((entry) => entry.id));
  if (!paid) return;
  startPayment(paid);
  resume(paid);
}

// After the back button, show the checkout's new state.
addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  showPending();
  if (watching) resume(watching.entry);
});

// Another tab has changed the entries.
addEventListener("storage", () => {
  showPending();
  const entry = watching?.entry;
  if (entry && /open|paying/.test(dialog.dataset.state) && !kept(entry)) resume(entry);
});

start();
