// The settings of a request: in a link, as the body that is sent, and as what people copy. All settings are texts.

const DEFAULTS = {
  model: "", prompt: "", chat: "", kind: "", constraint: "", ban: "", match: "word", strategy: "resample",
  temperature: "1", seed: "1", tokens: "100",
};
const SEPARATORS = ",，、";

// The settings that differ from the defaults, as the part of an address behind its ``#``.
function toFragment(settings) {
  const told = Object.keys(DEFAULTS).filter((name) => settings[name] !== DEFAULTS[name]);
  return new URLSearchParams(told.map((name) => [name, settings[name]])).toString();
}

function fromFragment(fragment) {
  const told = new URLSearchParams(fragment);
  return Object.fromEntries(Object.entries(DEFAULTS).map(([name, value]) => [name, told.get(name) ?? value]));
}

// The words of a list, as ``--ban-words`` takes it: a backslash makes a comma literal.
function listed(text) {
  const words = [""];
  let isEscaped = false;
  for (const character of text) {
    const last = words.length - 1;
    if (!SEPARATORS.includes(character)) words[last] += character;
    else if (isEscaped) words[last] = words[last].slice(0, -1) + character;
    else words.push("");
    isEscaped = character === "\\" && !isEscaped;
  }
  return words.map((word) => word.trim()).filter(Boolean);
}

// What is sent to the server; what is left out is as the server has it.
function bodyOf(settings) {
  const { kind, constraint, match, strategy } = settings;
  const own = kind ? { [kind]: constraint } : {};
  const ban = listed(settings.ban);
  if (ban.length) own.ban = ban;
  if (ban.length && match !== DEFAULTS.match) own.match = match;
  if (strategy !== DEFAULTS.strategy) own.strategy = strategy;
  const body = settings.model ? { model: settings.model } : {};
  if (settings.chat) body.messages = [{ role: "user", content: settings.prompt }];
  else body.prompt = settings.prompt;
  for (const [name, setting] of [["max_tokens", "tokens"], ["temperature", "temperature"], ["seed", "seed"]])
    if (settings[setting] !== "") body[name] = Number(settings[setting]);
  return Object.keys(own).length ? { ...body, sfgen: own } : body;
}

function inShell(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'";
}

// A value of JSON as Python writes it.
function inPython(value) {
  if (Array.isArray(value)) return "[" + value.map(inPython).join(", ") + "]";
  if (typeof value !== "object") return JSON.stringify(value);
  return "{" + Object.entries(value).map(([name, item]) => JSON.stringify(name) + ": " + inPython(item)).join(", ") + "}";
}

function asCurl(settings, url, hasKey) {
  const key = hasKey ? ' \\\n  -H "Authorization: Bearer $SFGEN_API_KEY"' : "";
  const path = settings.chat ? "chat/completions" : "completions";
  return "curl -s " + inShell(url + "/" + path) + key + " \\\n  --json " + inShell(JSON.stringify(bodyOf(settings)));
}

function asPython(settings, url, hasKey) {
  const { sfgen, ...fields } = bodyOf(settings);
  const given = Object.entries(fields).map(([name, value]) => "    " + name + "=" + inPython(value) + ",\n");
  if (sfgen) given.push("    extra_body=" + inPython({ sfgen }) + ",\n");
  const key = hasKey ? 'os.environ["SFGEN_API_KEY"]' : '"none"';
  const [method, text] = settings.chat ? ["chat.completions", "message.content"] : ["completions", "text"];
  return (hasKey ? "import os\n\n" : "") + "import openai\n\n" +
    "client = openai.OpenAI(base_url=" + JSON.stringify(url) + ", api_key=" + key + ")\n" +
    "answer = client." + method + ".create(\n" + given.join("") + ")\n" + "print(answer.choices[0]." + text + ")";
}

// The command that writes the same text without a server; a model that is a path has its last part as its name here.
function asSfgen(settings) {
  const given = [["model", settings.model], [settings.kind, settings.constraint], ["ban-words", settings.ban]];
  if (!listed(settings.ban).length) given.pop();
  else if (settings.match !== DEFAULTS.match) given.push(["ban-match", settings.match]);
  if (settings.strategy !== DEFAULTS.strategy) given.push(["strategy", settings.strategy]);
  given.push(["max-tokens", settings.tokens], ["temperature", settings.temperature]);
  if (Number(settings.temperature) > 0) given.push(["seed", settings.seed]);
  const options = given.filter(([name, value]) => name && (value !== "" || name === settings.kind));
  const told = options.map(([name, value]) => "--" + name + "=" + inShell(value));
  const prompt = (settings.prompt.startsWith("-") ? "-- " : "") + inShell(settings.prompt);
  return ["sfgen gen", ...(settings.chat ? ["--chat"] : []), ...told, prompt].join(" ");
}
