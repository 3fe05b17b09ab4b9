// A sample for a panel, made of the lines of a trace as they come (sfgen/trace/FORMAT.md).

const STRUCK_FOR = 4; // tokens for which text that was taken back is still shown where it stood
const ENDS = {
  complete: "nothing but the end could follow",
  end_token: "the model ended the text",
  stop: "a stop string was whole",
  limit: "the limit of tokens was reached",
};
const ENCODER = new TextEncoder();
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });
const ALL_IS_THOUGHT = -1;
const COLUMNS = ["kind", "node", "says", "seconds", "passes", "saved", "rollbacks", "undone", "state", "expected", "marks",
  "held", "open", "ban", "struck", "thought", "table", "chosen", "past", "why", "probability", "removed"];

function bytesOf(value) {
  return typeof value === "string" ? ENCODER.encode(value) : Uint8Array.from(value.hex.match(/../g) || [], (pair) => parseInt(pair, 16));
}

// The text of bytes behind half a character, and the half of one with which they end.
function decoded(half, data) {
  const all = Uint8Array.of(...half, ...data);
  let end = all.length;
  for (let size = Math.min(3, end); size && end === all.length; size -= 1)
    if (isHalf(all.subarray(all.length - size))) end -= size;
  return [DECODER.decode(all.subarray(0, end)), all.slice(end)];
}

function isHalf(data) {
  try {
    return data[0] > 0x7f && new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data, { stream: true }) === "";
  } catch {
    return false;
  }
}

class Run {
  constructor(scene) {
    this.scene = scene;
    this.tokens = []; // those that stand: their nodes, bytes, and where these begin
    this.states = [];
    this.halves = [new Uint8Array()]; // of each node
    this.children = new Map();
    this.numbers = new Map([["", 0]]);
    this.closed = this.released = this.passes = this.undone = 0;
    this.asked = this.watch = this.struck = this.outcome = null;
    this.marker = scene.after === null ? null : ENCODER.encode(scene.after);
    this.start = this.marker ? null : 0; // the byte at which the text begins, behind a thought
    this.thought = this.marker ? ALL_IS_THOUGHT : 0; // what is written before it, in units of UTF-16
    this.sample = {
      number: scene.sample,
      prompt: scene.prompt,
      about: [scene.model, counted(scene.vocabulary_size, "token") + " in the vocabulary"],
      constraint: constraintOf(scene),
      after: scene.after,
      banned: [...scene.words, ...scene.banned_patterns, ...scene.word_bias],
      isConstrained: false,
      hasStates: scene.pattern !== null || scene.choices !== null,
      strings: [""],
      tried: { parents: [0], pieces: [""], tokenIds: [0], halves: {} },
      tables: [],
      rollbacks: [],
      steps: Object.fromEntries(COLUMNS.map((name) => [name, []])),
      end: null,
    };
    if (scene.seed !== null) this.sample.about.push("seed " + scene.seed);
    this.tellsWhere = [scene.schema, scene.grammar, scene.template, scene.substring].some((name) => name !== null);
    this.sample.isConstrained = this.sample.hasStates || this.tellsWhere || this.sample.banned.length > 0;
    this.addStep("start", "before the first step", 0);
  }

  // Take one line; what is released or closed belongs to the step before.
  take(line) {
    this.passes = Math.max(this.passes, line.forward_passes || 0);
    const say = {
      token_chosen: () => this.choose(line),
      rolled_back: () => this.rollBack(line),
      block_moved: () => this.move(line),
      prefix_scored: () => ["scored", this.search(line)],
      finished: () => this.finish(line.result),
      error: () => this.fail(line.message, line.details, line.hint),
    }[line.event];
    if (line.event === "block_closed") this.closed = line.position;
    if (line.event === "text_released") this.released = Math.max(this.released, this.start ?? 0);
    if (line.event === "text_released" || line.event === "thought_released")
      this.released += ENCODER.encode(line.text).length - 2 * line.text.split("\ufffd").length + 2;
    if (say) this.addStep(...say(), line.seconds);
    else {
      const { held, ban } = this.sample.steps;
      [held[held.length - 1], ban[ban.length - 1]] = [this.held, this.number(this.ban())];
    }
  }

  choose(line) {
    this.cut(line.position);
    const data = bytesOf(line.data);
    const saved = this.saved + line.forced;
    this.tokens.push({ node: this.child(this.tip, line.token_id, data), data, offset: this.length, saved });
    if (this.start === null) this.findStart();
    if (!this.states.length) this.states.push(String(line.state));
    this.states.push(line.described ?? String(line.next_state));
    if (line.outlook) this.asked = { table: this.addTable(line), position: line.position, id: line.token_id };
    else if (line.forced) this.asked = null;
    this.watch = line.watch;
    if (this.struck && line.position >= this.struck.position + STRUCK_FOR) this.struck = null;
    const healed = DECODER.decode(bytesOf(line.healed));
    const said = ["token " + line.token_id + " " + quoted(healed + DECODER.decode(data))];
    const allowed = line.allowed.toLocaleString("en") + " of " + this.scene.vocabulary_size.toLocaleString("en") + " allowed";
    said.push((line.forced ? "jump-forward, " : "") + allowed);
    if (line.probability !== null) said.push("drawn with " + percent(line.probability));
    this.likely = line.forced ? [null, null] : [probabilityOf(line), line.outlook?.removed ?? null];
    return [line.forced ? "forced" : "token", said.join(" · ")];
  }

  rollBack(line) {
    const from = this.tip;
    const text = DECODER.decode(bytesOf(line.data));
    this.cut(line.position);
    this.undone += line.token_ids.length;
    this.watch = null;
    this.struck = { position: line.position, text };
    const why = line.word === null ? "nothing else could follow" : quoted(line.word) + " is banned";
    const ruledOut = counted(line.ruled_out, "token") + " ruled out at position " + line.place;
    const said = "↶ took back " + quoted(text) + " · " + why + " · " + ruledOut;
    this.sample.rollbacks.push({ step: this.sample.steps.kind.length, from, to: this.tip, why: this.number(said) });
    return ["back", said];
  }

  move(line) {
    this.closed = line.position;
    return ["moved", "⇥ " + counted(line.tokens, "token") + " were too many to hold back: kept up to position " + line.position];
  }

  search(line) {
    const where = "at " + quoted(DECODER.decode(bytesOf(line.data))) + " · written with " + percent(line.probability);
    return where + " · " + percent(line.known) + " is known to be allowed, " + percent(line.unknown) + " is unknown";
  }

  finish(result) {
    this.passes = Math.max(this.passes, result.forward_passes);
    this.struck = null;
    this.outcome = result;
    const from = Math.max(0, this.thought);
    this.sample.end = { kind: "finished", text: result.text, from, to: from + result.text.length };
    return ["end", "done: " + ENDS[result.finish_reason]];
  }

  fail(message, details = [], hint = "") {
    this.sample.end = { kind: "failed", message, details, hint };
    return ["failed", message];
  }

  // ---- the tokens that stand ----

  get tip() {
    return this.tokens.length ? this.tokens.at(-1).node : 0;
  }

  // The jump-forward tokens among them.
  get saved() {
    return this.tokens.length ? this.tokens.at(-1).saved : 0;
  }

  get length() {
    return this.offset(this.tokens.length);
  }

  offset(position) {
    if (position < this.tokens.length) return this.tokens[position].offset;
    return this.tokens.length ? this.tokens.at(-1).offset + this.tokens.at(-1).data.length : 0;
  }

  cut(position) {
    if (position < this.tokens.length) this.released = Math.min(this.released, this.tokens[position].offset);
    this.tokens.length = Math.min(this.tokens.length, position);
    this.states.length = Math.min(this.states.length, position + 1);
    this.closed = Math.min(this.closed, position);
    if (this.marker && this.start !== null && this.length < this.start) {
      this.start = null;
      this.thought = ALL_IS_THOUGHT;
    }
  }

  // Whether the last token ends the thought: the marker is looked for where it may end in that token.
  findStart() {
    const last = this.tokens.at(-1);
    let first = this.tokens.length - 1;
    while (first && this.tokens[first].offset > last.offset - this.marker.length + 1) first -= 1;
    const offset = this.tokens[first].offset;
    const written = bytesOfAll(this.tokens.slice(first));
    const found = indexOf(written, this.marker);
    if (found < 0) return;
    this.start = offset + found + this.marker.length;
    this.thought = DECODER.decode(bytesOfAll(this.tokens).subarray(0, this.start)).length;
  }

  child(node, id, data) {
    const key = [node, id, ...data].join();
    if (!this.children.has(key)) {
      const { parents, pieces, tokenIds, halves } = this.sample.tried;
      const [text, half] = decoded(this.halves[node], data);
      this.children.set(key, parents.length);
      if (half.length) halves[parents.length] = Array.from(half, (byte) => "\\x" + byte.toString(16)).join("");
      this.halves.push(half);
      parents.push(node);
      pieces.push(text);
      tokenIds.push(id);
    }
    return this.children.get(key);
  }

  // The first token that may still be taken back.
  get held() {
    let from = this.released || this.length;
    if (this.outcome) from = this.length;
    else if (this.sample.banned.length) from = Math.max(this.offset(this.closed), this.released);
    return this.tokens.findLastIndex((token) => token.offset < from) + 1;
  }

  // Where a partial match of a banned word begins: the token, and the characters of its piece before it.
  get open() {
    const begin = this.watch?.open_from ?? null;
    if (begin === null || begin >= this.length || !this.tokens.length) return null;
    const index = Math.max(0, this.tokens.findLastIndex((token) => token.offset <= begin));
    const { data, offset } = this.tokens[index];
    const half = this.halves[index ? this.tokens[index - 1].node : 0];
    return [index, Array.from(decoded(half, data.subarray(0, Math.max(0, begin - offset)))[0]).length];
  }

  // ---- steps ----

  number(text) {
    if (!this.numbers.has(text)) this.numbers.set(text, this.sample.strings.push(text) - 1);
    return this.numbers.get(text);
  }

  addStep(kind, said, seconds) {
    const [state, expected] = this.where();
    const past = this.asked !== null && (kind === "back" || this.asked.position !== this.tokens.length - 1);
    const [probability, removed] = kind === "token" ? this.likely : [null, null];
    const step = {
      probability, removed, kind, seconds, past, state: this.number(state), expected: this.number(expected), marks: null, thought: this.thought, why: 0,
      node: this.tip, says: this.number(said), passes: this.passes, saved: this.saved,
      rollbacks: this.sample.rollbacks.length, undone: this.undone, held: this.held, open: this.open, ban: this.number(this.ban()),
      struck: this.struck && [this.struck.position, this.number(this.struck.text)],
      table: this.asked && this.asked.table, chosen: this.asked ? this.sample.tables[this.asked.table].ids.indexOf(this.asked.id) : -1,
    };
    for (const name of COLUMNS) this.sample.steps[name].push(step[name]);
  }

  where() {
    if (this.outcome) return [this.sample.hasStates || this.tellsWhere ? "the end" : "", ""];
    const last = this.states.at(-1) ?? "";
    if (!this.tellsWhere) return [this.sample.hasStates ? last : "", ""];
    const [way, ...expected] = last.split(": ");
    return [way, expected.join(": ")];
  }

  ban() {
    if (!this.sample.banned.length || this.outcome) return "";
    const held = this.tokens.length - this.closed;
    const said = this.open ? ["may become " + (this.watch.words.join(", ") || "banned text")] : [];
    return [...said, ...(held > 0 ? [counted(held, "token") + " held back"] : [])].join(" · ");
  }

  addTable({ position, outlook }) {
    const rows = new Map();
    for (const one of [...outlook.before, ...outlook.after])
      rows.set(one.token_id, [this.number(nameOf(one)), one.before, one.after]);
    const ids = [...rows.keys()];
    const among = (several) => several.map((one) => ids.indexOf(one.token_id));
    const took = this.number("after the mask, which took " + percent(outlook.removed));
    return this.sample.tables.push({ position, took, ids, rows: [...rows.values()], before: among(outlook.before), after: among(outlook.after) }) - 1;
  }
}

// With which a token was drawn; of a greedy choice the model's own among the tokens that may stand there.
function probabilityOf({ probability, outlook, token_id }) {
  if (probability !== null || !outlook) return probability;
  return outlook.after.find((one) => one.token_id === token_id)?.after ?? null;
}

function bytesOfAll(tokens) {
  return Uint8Array.from(tokens.flatMap(({ data }) => [...data]));
}

// Where some bytes stand in others; -1: nowhere.
function indexOf(data, wanted) {
  for (let at = 0; at + wanted.length <= data.length; at += 1)
    if (wanted.every((byte, index) => data[at + index] === byte)) return at;
  return -1;
}

function nameOf(candidate) {
  if (candidate.is_end) return "⟨end⟩";
  return candidate.data === null ? "⟨token " + candidate.token_id + "⟩" : quoted(DECODER.decode(bytesOf(candidate.data)));
}

function constraintOf(scene) {
  if (scene.pattern !== null) return { kind: "pattern", text: scene.pattern, source: null };
  if (scene.choices !== null) return { kind: "choices", choices: scene.choices, more: 0 };
  for (const kind of ["schema", "grammar", "template", "substring"])
    if (scene[kind] !== null) return { kind, text: scene[kind], source: null };
  return null;
}
