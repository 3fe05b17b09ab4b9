// The form: it asks the server, gives what comes to the timeline, and tells each error at the field that it is about.

const NAMES = { regex: "Pattern", schema: "Schema", grammar: "Grammar" };
const EXAMPLES = {
  regex: "For example [0-9]{4}-[0-9]{2}, as Python's re has it.",
  schema: "JSON Schema, or names and types: name, age int, tags str[].",
  grammar: 'GBNF or Lark: root ::= [0-9]+ ("+" [0-9]+)*',
};
// The field of the page that a parameter of a request belongs to; what has none is told above the text.
const PLACES = [
  [/^sfgen\.(regex|schema|grammar)/, "constraint"], [/^sfgen\.(ban|allow)/, "ban"], [/^sfgen\.match/, "match"],
  [/^sfgen\.strategy/, "strategy"], [/^(prompt|messages)/, "prompt"], [/max_tokens/, "tokens"], [/^temperature$/, "temperature"],
  [/seed$/, "seed"], [/^model$/, "model"],
];
const STOPPED = "stopped";
const LINK_REST = 250; // milliseconds without a change after which the address follows the settings

const timeline = new Timeline();
const at = (path) => new URL(path, document.baseURI).href;
let asking = null; // ends the request that is under way
let run = null;
let linking = null;

function settingsOf() {
  const found = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, byId(name).value]));
  return { ...found, chat: byId("chat").checked ? "1" : "", constraint: found.kind ? found.constraint : "" };
}

function show(settings) {
  for (const [name, value] of Object.entries(settings)) {
    const field = byId(name);
    if (name === "chat") field.checked = value !== "";
    else {
      if (name === "model" && value) addModel(value);
      field.value = value;
      if (field.tagName === "SELECT" && field.value !== value) field.value = DEFAULTS[name];
    }
  }
  if (!byId("model").value && byId("model").options.length) byId("model").selectedIndex = 0;
  change();
}

function addModel(name) {
  const { options } = byId("model");
  if (![...options].some((option) => option.value === name)) byId("model").append(new Option(name, name));
}

// Let what depends on the settings follow them.
function change() {
  const settings = settingsOf();
  byId("constraint").hidden = byId("example").hidden = !settings.kind;
  byId("constraint").setAttribute("aria-label", NAMES[settings.kind] || "");
  byId("example").textContent = EXAMPLES[settings.kind] || "";
  const hasKey = byId("key").value !== "";
  byId("as-curl").textContent = asCurl(settings, at("v1"), hasKey);
  byId("as-python").textContent = asPython(settings, at("v1"), hasKey);
  byId("as-sfgen").textContent = asSfgen(settings);
  clearTimeout(linking);
  linking = setTimeout(link, LINK_REST);
}

// Let the address hold the settings; nothing is asked for when it is opened.
function link() {
  clearTimeout(linking);
  const fragment = toFragment(settingsOf());
  if (fragment !== location.hash.slice(1)) history.replaceState(null, "", "#" + fragment);
}

// ---- the server ----

function ask(path, options = {}) {
  const key = byId("key").value;
  const headers = { ...options.headers, ...(key ? { Authorization: "Bearer " + key } : {}) };
  return fetch(at(path), { ...options, headers, cache: "no-store" });
}

async function readModels() {
  try {
    const answer = await ask("v1/models");
    byId("key-row").hidden = answer.status !== 401 && !byId("key").value;
    if (!answer.ok) return;
    const names = (await answer.json()).data.map((model) => model.id);
    names.forEach(addModel);
    change();
  } catch {
    tell(null, "The server does not answer.");
  }
}

async function write() {
  stop();
  forgetFaults();
  link();
  const mine = (asking = new AbortController());
  setWriting(true);
  run = null;
  try {
    const answer = await ask("v1/trace", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(bodyOf(settingsOf())),
      signal: mine.signal,
    });
    if (answer.ok) await follow(answer.body.getReader(), mine);
    else await refuse(answer);
  } catch (error) {
    if (asking === mine) end(mine.signal.aborted ? STOPPED : "The server does not answer, or the connection was cut.");
  }
  if (asking === mine) setWriting(false);
}

// Read the lines of a trace until they end.
async function follow(reader, mine) {
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (asking !== mine) return;
    const lines = (rest + decoder.decode(value, { stream: !done })).split("\n");
    rest = lines.pop();
    for (const line of lines) take(JSON.parse(line));
    if (run && run.sample.end) timeline.isGrowing = false;
    if (run) timeline.grow();
    if (done) break;
  }
  if (run && run.sample.end) rested();
  else end("The connection was cut before the text had come to its end.");
}

function take(line) {
  if (!("trace" in line)) return run.take(line);
  run = new Run(line);
  byId("outcome").textContent = "Writing …";
  timeline.isGrowing = true;
  timeline.load([run.sample]);
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) timeline.staysLast = true;
  else timeline.play(true);
  const { top } = byId("samples").getBoundingClientRect();
  if (top > innerHeight / 2) byId("outcome").scrollIntoView();
}

// The request has ended before its text.
function end(message) {
  if (run && run.sample.end) return;
  if (!run) {
    byId("outcome").textContent = "";
    if (message !== STOPPED) tell(null, message);
    return;
  }
  run.addStep(...run.fail(message), run.sample.steps.seconds.at(-1));
  timeline.isGrowing = false;
  timeline.grow();
  rested();
}

function stop() {
  if (asking) asking.abort();
}

function setWriting(on) {
  byId("stop").disabled = !on;
  byId("samples").setAttribute("aria-busy", String(on));
  if (on) byId("copy-text").hidden = true;
  if (on) byId("outcome").textContent = "Waiting for the server …";
  else {
    asking = null;
    timeline.isGrowing = false;
  }
}

// Say how it ended, when all that came has been played.
function rested() {
  if (!run || timeline.timer !== null || !run.sample.end) return;
  const { steps, end } = run.sample;
  const figures = [counted(run.tokens.length, "token"), counted(run.passes, "forward pass", "forward passes")];
  if (steps.rollbacks.at(-1)) figures.push(counted(steps.rollbacks.at(-1), "rollback"));
  const how = end.kind === "finished" ? "Done: " + ENDS[run.outcome.finish_reason] : "Not done: " + end.message;
  byId("outcome").textContent = how + " · " + figures.join(" · ");
  byId("copy-text").hidden = run.outcome === null;
}

// ---- errors ----

async function refuse(answer) {
  let error = { message: "The server answers " + answer.status + ".", param: null };
  try {
    error = (await answer.json()).error || error;
  } catch {
    // it is not the server that answers
  }
  byId("outcome").textContent = "";
  if (answer.status === 401) byId("key-row").hidden = false;
  const place = PLACES.find(([pattern]) => pattern.test(error.param || ""));
  tell(answer.status === 401 ? "key" : place ? place[1] : null, error.message);
}

// Tell an error at its field, and go there; or, where it belongs to none, below the buttons.
function tell(name, message) {
  const fault = make("pre", "fault");
  fault.textContent = message;
  fault.id = (name || "general") + "-fault";
  fault.setAttribute("role", "alert");
  if (name === null) return byId("general").replaceChildren(fault);
  const field = byId(name);
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-errormessage", fault.id);
  field.after(fault);
  for (let box = field.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  field.focus();
}

function forgetFaults() {
  for (const fault of document.querySelectorAll(".fault")) fault.remove();
  for (const field of document.querySelectorAll("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-errormessage");
  }
}

// ---- what people do ----

async function copy(button) {
  link();
  const name = button.dataset.copies;
  const text = name === "link" ? location.href : name === "text" ? run.outcome.text : byId(name).textContent;
  const said = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    const box = name === "text" ? document.querySelector(".text") : byId(name);
    if (box) getSelection().selectAllChildren(box);
    button.textContent = box ? "Selected: Ctrl C copies" : "It is in the address";
  }
  setTimeout(() => (button.textContent = said), 1500);
}

function start() {
  byId("pace").value = "20";
  timeline.onRest = rested;
  byId("request").addEventListener("submit", (event) => {
    event.preventDefault();
    write();
  });
  byId("another").addEventListener("click", () => {
    byId("seed").value = crypto.getRandomValues(new Uint32Array(1))[0];
    change();
    byId("request").requestSubmit();
  });
  byId("stop").addEventListener("click", stop);
  byId("request").addEventListener("input", change);
  byId("key").addEventListener("change", readModels);
  for (const button of document.querySelectorAll("[data-copies]")) button.addEventListener("click", () => copy(button));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") stop();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("request").requestSubmit();
  });
  window.addEventListener("hashchange", () => show(fromFragment(location.hash.slice(1))));
  show(fromFragment(location.hash.slice(1)));
  readModels();
}

start();
