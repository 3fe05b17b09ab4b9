// One sample: what is known of it at a step. Texts come into the page as text alone, never as HTML.

const SPECIAL = /([\x00-\x08\n\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb])/u;
const STATES_SHOWN = 12;
const GROWING = 100; // rollbacks up to which the tree is drawn anew at each; then once more at the end
const CHUNK = [200, 1000]; // tokens of a block of the text: so many at least, and at most where no line ends

function make(tag, className = "", text = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.append(...visible(text));
  return element;
}

// The text with newlines that can be seen, and escapes for what cannot be, or turns the direction of text around.
function visible(text) {
  return text.split(SPECIAL).filter(Boolean).map((part) => {
    if (!SPECIAL.test(part)) return part;
    const mark = document.createElement("span");
    mark.className = part === "\n" ? "newline" : "unseen";
    mark.textContent = part === "\n" ? part : "\\u" + part.codePointAt(0).toString(16).padStart(4, "0");
    return mark;
  });
}

function percent(share) {
  if (share === 0 || share >= 1) return share ? "100 %" : "0 %";
  return share >= 0.0005 ? (100 * share).toFixed(1) + " %" : "<0.1 %";
}

function counted(number, what, plural = what + "s") {
  return number.toLocaleString("en") + " " + (number === 1 ? what : plural);
}

function quoted(text) {
  return "'" + text.replaceAll("\n", "\\n") + "'";
}

class Panel {
  constructor(sample, goTo) {
    this.sample = sample;
    this.steps = sample.steps;
    this.goTo = goTo;
    this.step = -1;
    this.shown = []; // the tokens that stand, each with its node, the step that wrote it, and its element
    this.held = 0;
    this.visits = []; // the steps that wrote each node
    this.read = 0; // the steps that were read
    this.readVisits();
    this.build();
  }

  get last() {
    return this.steps.kind.length - 1;
  }

  readVisits() {
    const { kind, node } = this.steps;
    while (this.visits.length < this.sample.tried.parents.length) this.visits.push([]);
    for (; this.read < kind.length; this.read += 1)
      if (kind[this.read] === "token" || kind[this.read] === "forced") this.visits[node[this.read]].push(this.read);
  }

  // Take the steps that have come to the sample.
  grow() {
    this.readVisits();
    if (this.strip) this.strip.grow();
    const { rollbacks, end } = this.sample;
    if (!rollbacks.length || (this.tree && !end && (rollbacks.length === this.tree.count || rollbacks.length > GROWING))) return;
    const tree = new Tree(this);
    if (this.tree) this.tree.element.replaceWith(tree.element);
    else this.element.append(tree.element);
    this.tree = tree;
    if (this.step >= 0) tree.show(this.step);
  }

  text(number) {
    return this.sample.strings[number];
  }

  build() {
    const { sample } = this;
    this.element = make("article", "sample");
    this.element.setAttribute("aria-label", "Sample " + sample.number);
    this.element.append(make("h2", "prompt", sample.prompt || "(empty prompt)"), make("p", "facts", sample.about.join(" · ")));
    this.buildRules();
    this.textBox = make("div", "text");
    this.textBox.setAttribute("role", "group");
    this.textBox.setAttribute("aria-label", "Text, token by token");
    this.textBox.tabIndex = 0;
    this.textBox.addEventListener("click", (event) => {
      const token = event.target.closest("[data-step]");
      if (token) this.goTo(Number(token.dataset.step));
    });
    this.cursor = make("span", "cursor");
    this.cursor.setAttribute("aria-hidden", "true");
    this.chunks = [];
    this.chunkFor(0).append(this.cursor);
    this.said = make("p", "said");
    this.ban = make("p", "ban");
    this.where = make("p", "where");
    this.figures = make("dl", "figures");
    this.figure = {};
    for (const name of ["tokens", "forward passes", "saved", "rollbacks", "seconds"]) {
      const box = make("div");
      this.figure[name] = make("dd");
      box.append(make("dt", "", name), this.figure[name]);
      this.figures.append(box);
    }
    this.candidates = make("section", "candidates");
    this.candidates.setAttribute("aria-label", "Candidates, sample " + sample.number);
    this.end = make("section", "end");
    this.strip = null; // made when the sample is first shown: a trace may have many
    this.tree = sample.rollbacks.length ? new Tree(this) : null;
    const left = make("div", "column");
    left.append(make("h3", "heard", "Text"), this.said, this.textBox, this.ban, this.where, this.end);
    this.right = make("div", "column");
    this.right.append(this.figures, this.candidates);
    this.element.append(left, this.right);
    if (this.tree) this.element.append(this.tree.element);
  }

  // What the text must match, and must not contain.
  buildRules() {
    const { constraint, banned, after, when } = this.sample;
    const rules = make("dl", "rules");
    const add = (name, ...parts) => {
      const description = make("dd");
      description.append(...parts);
      rules.append(make("dt", "", name), description);
    };
    if (constraint && constraint.kind === "pattern") {
      this.pattern = make("code", "pattern");
      this.pattern.append(...visible(constraint.text));
      this.patternCharacters = Array.from(constraint.text);
      add("pattern", this.pattern);
    } else if (constraint && constraint.kind === "choices") {
      this.choices = constraint.choices.map((choice) => make("span", "choice", choice || "(empty)"));
      add("choices", ...this.choices, constraint.more ? "… " + constraint.more.toLocaleString("en") + " more" : "");
    } else if (constraint) {
      add(constraint.kind, make("code", "", constraint.text));
      if (constraint.source && constraint.source.trim() !== constraint.text.trim()) {
        const details = make("details");
        const source = make("pre", "", constraint.source);
        source.tabIndex = 0;
        details.append(make("summary", "", "its text"), source);
        rules.lastChild.append(details);
      }
    }
    if (banned.length) add("banned", ...banned.flatMap((word, index) => [index ? ", " : "", make("b", "banned", word)]));
    if (when) add("calls behind", make("code", "", when));
    if (after) add("text behind", make("code", "", after));
    if (rules.childElementCount) this.element.append(rules);
  }

  show(wanted) {
    const step = Math.min(wanted, this.last);
    if (step === this.step) return;
    this.step = step;
    this.showText(step);
    this.said.replaceChildren(...visible(this.sentence(step)));
    this.said.dataset.kind = this.steps.kind[step];
    this.ban.replaceChildren(...visible(this.text(this.steps.ban[step])));
    this.showWhere(step);
    this.showFigures(step);
    this.showCandidates(step);
    this.showEnd(step);
    if (!this.strip) this.right.after((this.strip = new Strip(this)).element);
    this.strip.show(step);
    if (this.tree) this.tree.show(step);
  }

  // What a screen reader says of a step.
  heard(step) {
    if (this.strip.speaks(step)) return "";
    const cell = this.strip.cellOf.get(step);
    return cell ? this.strip.words(cell) : this.sentence(step).replace("↶", "rollback:").replace("⇥ ", "").replaceAll(" · ", ", ");
  }

  sentence(step) {
    return this.text(this.steps.says[step]);
  }

  // The nodes from the first token to the last one that stands after a step.
  path(step) {
    const { parents } = this.sample.tried;
    const nodes = [];
    for (let node = this.steps.node[step]; node; node = parents[node]) nodes.push(node);
    return nodes.reverse();
  }

  // The step, up to this one, that wrote a node.
  visit(node, step) {
    const visits = this.visits[node];
    let index = visits.length - 1;
    while (index > 0 && visits[index] > step) index -= 1;
    return visits[index];
  }

  // ---- the text: only what differs from the step before is drawn ----

  showText(step) {
    this.clearMarks();
    const nodes = this.path(step);
    let same = 0;
    while (same < nodes.length && same < this.shown.length) {
      const token = this.shown[same];
      if (token.node !== nodes[same] || token.visit !== this.visit(nodes[same], step)) break;
      same += 1;
    }
    for (const token of this.shown.splice(same)) token.element.remove();
    while (this.chunks.length > 1 && this.chunks.at(-1).first >= same) this.chunks.pop().element.remove();
    for (const node of nodes.slice(same)) {
      const token = this.makeToken(node, this.visit(node, step), this.shown.length);
      this.chunkFor(this.shown.length).append(token.element);
      this.shown.push(token);
    }
    this.chunks.at(-1).element.append(this.cursor);
    this.held = Math.min(this.held, same);
    this.showMarks(step);
    this.showTip();
  }

  // The block for the next token. A long text in one block would be laid out anew as a whole at each step.
  chunkFor(position) {
    const chunk = this.chunks.at(-1);
    const size = chunk ? position - chunk.first : Infinity;
    if (size < CHUNK[0] || (size < CHUNK[1] && !this.shown.at(-1).piece.endsWith("\n"))) return chunk.element;
    const element = make("div", "chunk");
    this.chunks.push({ element, first: position });
    this.textBox.append(element);
    return element;
  }

  makeToken(node, visit, position) {
    const piece = this.sample.tried.pieces[node];
    const element = make("span", "token");
    if (position % 2) element.classList.add("odd");
    if (this.steps.kind[visit] === "forced") element.classList.add("forced");
    element.dataset.step = visit;
    element.title = "token " + this.sample.tried.tokenIds[node] + ", step " + visit;
    element.append(...visible(piece));
    return { node, visit, element, piece };
  }

  clearMarks() {
    if (this.now) this.now.element.classList.remove("now");
    for (const token of this.open || []) token.element.replaceChildren(...visible(token.piece));
    if (this.struck) this.struck.remove();
    if (this.half) this.half.remove();
    this.now = this.struck = this.half = null;
    this.open = [];
  }

  showMarks(step) {
    const { kind, held, open, struck, thought } = this.steps;
    const tip = this.shown.at(-1);
    if (tip && tip.visit === step) {
      this.now = tip;
      tip.element.classList.add("now");
    }
    // From ``held`` on the text may still be taken back.
    for (let at = Math.min(this.held, held[step]); at < Math.max(this.held, held[step]); at += 1)
      if (this.shown[at]) this.shown[at].element.classList.remove("held");
    for (let at = held[step]; at < this.shown.length; at += 1) this.shown[at].element.classList.add("held");
    this.held = held[step];
    if (open[step]) this.showOpen(...open[step]);
    if (struck[step]) {
      const [position, text] = struck[step];
      this.struck = make("s", "struck");
      this.struck.append("↶", ...visible(this.text(text)));
      (this.shown[position] ? this.shown[position].element : this.cursor).before(this.struck);
    }
    const half = tip && this.sample.tried.halves[tip.node];
    if (half) {
      this.half = make("span", "unseen", half);
      this.cursor.before(this.half);
    }
    const finished = kind[step] === "end" && this.sample.end.kind === "finished";
    this.showOutside(thought[step] < 0 ? Infinity : thought[step], finished ? this.sample.end.to : Infinity);
  }

  // A partial match of a banned word is underlined.
  showOpen(first, characters) {
    this.open = this.shown.slice(first);
    this.open.forEach((token, index) => {
      const all = Array.from(token.piece);
      const from = index ? 0 : characters;
      token.element.replaceChildren(...visible(all.slice(0, from).join("")), make("u", "open", all.slice(from).join("")));
    });
  }

  // Tokens of a thought before the text, and behind a stop string, are no part of it.
  showOutside(from, to) {
    if (from === 0 && to === Infinity && !this.hasOutside) return;
    this.hasOutside = false;
    let offset = 0;
    for (const { element, piece } of this.shown) {
      const outside = offset + piece.length <= from ? from > 0 : offset >= to;
      element.classList.toggle("outside", outside);
      this.hasOutside ||= outside;
      offset += piece.length;
    }
  }

  // Scroll the box of the text, and not the page, to its end.
  showTip() {
    const box = this.textBox;
    if (box.scrollHeight > box.clientHeight) {
      const above = this.cursor.getBoundingClientRect().top - box.getBoundingClientRect().top;
      box.scrollTop += above - box.clientHeight + 48;
    }
  }

  // ---- where the text stands ----

  showWhere(step) {
    const { state, expected, marks } = this.steps;
    const parts = [];
    if (this.sample.hasStates) {
      const trail = this.shown.map((token) => this.text(state[token.visit])).slice(-STATES_SHOWN);
      if (this.shown.length < STATES_SHOWN) trail.unshift("0");
      else trail.unshift("…");
      if (this.steps.kind[step] === "end") trail.push("end");
      parts.push(make("span", "label", "states"), make("span", "trail", trail.join(" → ")));
    } else if (state[step]) {
      parts.push(make("span", "label", "at"), make("b", "", this.text(state[step])));
    }
    if (expected[step]) parts.push(make("span", "label", "expects"), make("code", "expected", this.text(expected[step])));
    this.where.replaceChildren(...parts);
    if (this.pattern) this.showPattern(marks[step]);
    if (this.choices) this.showChoices(step);
  }

  // The pieces of the pattern that read the last character, and those that may read the next one.
  showPattern(number) {
    if (number === this.mark) return;
    this.mark = number;
    if (number === null) {
      this.pattern.replaceChildren(...visible(this.sample.constraint.text));
      return;
    }
    const styles = this.patternCharacters.map(() => "");
    this.sample.marks[number].forEach((spans, kind) => {
      for (const [start, end] of spans)
        for (let at = start; at < end; at += 1) styles[at] = (styles[at] + " " + (kind ? "next" : "read")).trim();
    });
    const parts = [];
    for (let start = 0, at = 1; at <= styles.length; at += 1) {
      if (at < styles.length && styles[at] === styles[start]) continue;
      const piece = this.patternCharacters.slice(start, at).join("");
      parts.push(...(styles[start] ? [make("mark", styles[start], piece)] : visible(piece)));
      start = at;
    }
    this.pattern.replaceChildren(...parts);
  }

  showChoices(step) {
    const behind = Math.max(0, this.steps.thought[step]);
    const written = this.shown.map((token) => token.piece).join("").slice(behind);
    this.sample.constraint.choices.forEach((choice, index) => {
      this.choices[index].classList.toggle("gone", !choice.startsWith(written));
    });
  }

  showFigures(step) {
    const { passes, saved, rollbacks, undone, seconds } = this.steps;
    this.figure.tokens.textContent = this.shown.length.toLocaleString("en");
    this.figure["forward passes"].textContent = passes[step].toLocaleString("en");
    this.figure.saved.textContent = saved[step].toLocaleString("en");
    const tokens = undone[step] ? " (" + counted(undone[step], "token") + ")" : "";
    this.figure.rollbacks.textContent = rollbacks[step].toLocaleString("en") + tokens;
    this.figure.seconds.textContent = seconds[step].toFixed(2);
  }

  // ---- what the model found likely ----

  showCandidates(step) {
    const { table, chosen, past, why, kind } = this.steps;
    this.candidates.classList.toggle("past", past[step]);
    if (table[step] === null) {
      const forced = kind[step] === "forced" || (kind[step] === "end" && step && kind[step - 1] === "forced");
      const said = forced ? "Forced: nothing else could stand here, so the model was not asked." : "";
      this.candidates.replaceChildren(...(said ? [make("h3", "", "Candidates"), make("p", "note", said)] : []));
      return;
    }
    const found = this.sample.tables[table[step]];
    const parts = [make("h3", "", "Candidates at position " + found.position)];
    const tables = make("div", "tables");
    if (this.sample.isConstrained) {
      tables.append(this.makeTable("before the mask", found, found.before, 1, chosen[step]));
      tables.append(this.makeTable(this.text(found.took), found, found.after, 2, chosen[step]));
    } else tables.append(this.makeTable("the model's best", found, found.before, 1, chosen[step]));
    parts.push(tables);
    if (why[step]) parts.push(make("p", "note", this.text(why[step])));
    this.candidates.replaceChildren(...parts);
  }

  makeTable(caption, found, numbers, share, chosen) {
    const table = make("table");
    table.append(make("caption", "", caption));
    for (const number of numbers) {
      const row = found.rows[number];
      const forbidden = share === 1 && !(row[2] > 0);
      const line = make("tr", forbidden ? "forbidden" : number === chosen ? "chosen" : "");
      const name = make("th");
      name.scope = "row";
      name.append(make(forbidden ? "s" : "span", "name", this.text(row[0])));
      const sign = make("td", "sign", forbidden ? "✗" : number === chosen ? "▸" : "");
      if (forbidden || number === chosen) sign.setAttribute("aria-label", forbidden ? "forbidden" : "chosen");
      const bar = make("td", "bar");
      const fill = make("span");
      fill.style.width = Math.min(100, 100 * row[share]) + "%";
      bar.append(fill);
      line.append(sign, name, bar, make("td", "share", percent(row[share])));
      table.append(line);
    }
    return table;
  }

  // ---- how it ended ----

  showEnd(step) {
    const { end } = this.sample;
    if (!end || step !== this.last || (end.kind === "finished" && end.text === this.shown.map((token) => token.piece).join(""))) {
      this.end.replaceChildren();
      return;
    }
    const heads = { finished: "The text that came out", failed: "The run failed", killed: "The run was killed" };
    const parts = [make("h3", "", heads[end.kind])];
    if (end.kind === "failed")
      parts.push(make("p", "error", end.message), make("pre", "", [...end.details, end.hint].filter(Boolean).join("\n")));
    else parts.push(make("pre", "", end.text));
    this.end.replaceChildren(...parts);
  }
}
