// How likely each token of one sample was, and what the mask took there: a cell for each, in the order of the steps.

const WHOLE = "The text was drawn as a whole: its tokens have no probabilities of their own.";
const BLOCK = 500; // cells that are drawn at a time: in a long run, those around the step
const NOT_TOLD = "This trace does not tell how likely its tokens were.";

// A token in words that can be heard.
function inWords(piece, half) {
  if (!piece) return half ? "a part of a character" : "no text";
  if (/^\n+$/.test(piece)) return piece.length > 1 ? piece.length + " newlines" : "a newline";
  if (/^ +$/.test(piece)) return piece.length > 1 ? piece.length + " blanks" : "a blank";
  return quoted(piece);
}

class Strip {
  constructor(panel) {
    this.panel = panel;
    this.cells = []; // of the tokens that were written, each with its step and its node, and its element while it is drawn
    this.cellOf = new Map(); // by the step
    this.standing = []; // the cells whose tokens stand after the steps that were read
    this.read = 0; // the steps that were read
    this.told = this.forced = 0; // the tokens with a probability, and the jump-forward ones
    this.first = this.end = 0; // the cells that are drawn: the first, and the one behind the last
    this.size = 0; // that of all cells, where not all are drawn
    this.passed = 0; // the first of them of a step behind the one that is shown
    this.filled = 0; // the cells that are in the table
    this.build();
    this.grow();
  }

  build() {
    const { number, isConstrained } = this.panel.sample;
    this.element = make("section", "strip");
    const head = make("h3", "", "Probability of each token");
    this.figures = make("p", "told");
    this.list = make("div", "cells");
    this.note = make("p", "note");
    head.id = "strip-" + number;
    this.note.id = "strip-note-" + number;
    this.element.setAttribute("aria-label", "Probabilities, sample " + number);
    const described = { role: "listbox", "aria-orientation": "horizontal", "aria-labelledby": head.id, "aria-describedby": this.note.id };
    for (const [name, value] of Object.entries(described)) this.list.setAttribute(name, value);
    this.list.addEventListener("click", (event) => this.press(event.target.closest(".cell")));
    this.list.addEventListener("keydown", (event) => this.goAcross(event));
    this.table = make("details");
    const table = make("table");
    const heads = make("tr");
    for (const name of ["token", "probability", ...(isConstrained ? ["the mask took"] : []), "step"]) {
      heads.append(make("th", "", name));
      heads.lastChild.scope = "col";
    }
    table.createTHead().append(heads);
    this.rows = table.createTBody();
    this.table.append(make("summary", "", "As a table"), table);
    this.table.addEventListener("toggle", () => this.fill());
    this.element.append(head, this.figures, this.list, this.note, this.table);
  }

  // Make the cells of the steps that have come.
  grow() {
    const { steps, sample } = this.panel;
    for (; this.read < steps.kind.length; this.read += 1) {
      const [kind, node] = [steps.kind[this.read], steps.node[this.read]];
      if (kind === "token" || kind === "forced") {
        this.cut(sample.tried.parents[node]);
        this.add(this.read, node);
      } else if (kind === "back") this.cut(node);
    }
    const isTold = this.told > 0 || this.forced === this.cells.length;
    this.element.hidden = !this.cells.length;
    this.list.hidden = this.figures.hidden = this.table.hidden = !isTold;
    const note = isTold ? this.key() : steps.kind.includes("scored") ? WHOLE : NOT_TOLD;
    if (note !== this.note.textContent) this.note.textContent = note;
    this.draw(this.first);
    this.fill();
  }

  key() {
    const parts = ["Column: the token's probability among those that may stand there, as it was drawn; at temperature 0 the model's own."];
    if (this.panel.sample.isConstrained) parts.push("Hatched, below: the probability that the mask took.");
    if (this.forced) parts.push("»: jump-forward, nothing else could stand there.");
    if (this.standing.length < this.cells.length) parts.push("Struck out: taken back.");
    if (this.cells.length > BLOCK) parts.push("Of a long run, " + BLOCK + " tokens are shown at a time.");
    return parts.join(" ");
  }

  // Mark the tokens behind a node: they were taken back.
  cut(node) {
    while (this.standing.length && this.standing.at(-1).node !== node) {
      const cell = this.standing.pop();
      cell.isGone = true;
      if (cell.element) {
        cell.element.classList.add("gone");
        cell.element.setAttribute("aria-label", this.words(cell));
      }
      if (cell.row) cell.row.classList.add("gone");
    }
  }

  add(step, node) {
    const { kind, probability, removed } = this.panel.steps;
    const isForced = kind[step] === "forced";
    const cell = { step, node, isForced, probability: probability[step], removed: removed[step], isGone: false, index: this.cells.length, element: null };
    this.forced += isForced;
    this.told += cell.probability !== null;
    this.cells.push(cell);
    this.cellOf.set(step, cell);
    this.standing.push(cell);
  }

  // Draw a block of cells, or what has come to it.
  draw(first) {
    if (first !== this.first) {
      for (const cell of this.cells.slice(this.first, this.end)) cell.element = null;
      this.list.replaceChildren();
      this.first = this.end = this.passed = first;
    }
    for (; this.end < Math.min(this.cells.length, first + BLOCK); this.end += 1) {
      const cell = this.cells[this.end];
      this.list.append((cell.element = this.cellFor(cell)));
    }
    if (this.cells.length > BLOCK && this.cells.length !== this.size) {
      this.size = this.cells.length;
      for (const cell of this.cells.slice(first, this.end)) cell.element.setAttribute("aria-setsize", this.size);
    }
  }

  cellFor(cell) {
    const { sample } = this.panel;
    const names = ["cell", "later", ...(cell.isForced ? ["forced"] : []), ...(cell.isGone ? ["gone"] : [])];
    const element = make("div", names.join(" "));
    const described = { role: "option", "aria-selected": "false", "aria-label": this.words(cell), "aria-posinset": cell.index + 1,
      ...(this.size ? { "aria-setsize": this.size } : {}) };
    for (const [name, value] of Object.entries(described)) element.setAttribute(name, value);
    element.tabIndex = -1;
    element.dataset.at = cell.index;
    const piece = make("span", "piece", this.piece(cell));
    piece.style.setProperty("--share", cell.probability ?? 0);
    element.append(this.column("up", cell.probability, cell.isForced ? "»" : "?"), piece);
    if (sample.isConstrained) element.append(this.column("down", cell.removed, ""));
    return element;
  }

  piece({ node }) {
    const { pieces, halves } = this.panel.sample.tried;
    return pieces[node].replaceAll("\n", "↵") || halves[node] || "";
  }

  column(name, share, sign) {
    const column = make("span", name, share === null ? sign : "");
    if (share === null) return column;
    column.append(make("span"));
    column.lastChild.style.height = Math.min(100, 100 * share) + "%";
    return column;
  }

  // ---- in words ----

  words(cell) {
    const { pieces, halves } = this.panel.sample.tried;
    const said = [this.likely(cell)];
    if (cell.removed !== null && this.panel.sample.isConstrained) said.push("the mask took " + percent(cell.removed));
    if (cell.isGone) said.push("taken back later");
    return inWords(pieces[cell.node], halves[cell.node]) + ": " + said.join(", ");
  }

  likely(cell) {
    if (cell.isForced) return "jump-forward, nothing else could stand there";
    return cell.probability === null ? "its probability is not told" : "probability " + percent(cell.probability);
  }

  // The figures again for whoever reads a table; its rows are made when it is opened.
  fill() {
    if (!this.table.open) return;
    const { sample } = this.panel;
    for (; this.filled < this.cells.length; this.filled += 1) {
      const cell = this.cells[this.filled];
      const name = make("th", "", this.piece(cell));
      name.scope = "row";
      const shown = (share) => (cell.isForced ? "jump-forward" : share === null ? "not told" : percent(share));
      const shares = [cell.probability, ...(sample.isConstrained ? [cell.removed] : [])];
      cell.row = this.rows.insertRow();
      if (cell.isGone) cell.row.className = "gone";
      cell.row.append(name, ...shares.map((share) => make("td", "", shown(share))), make("td", "", String(cell.step)));
    }
  }

  // ---- from step to step ----

  // The cell of the last token that stands after a step.
  at(step) {
    const node = this.panel.steps.node[step];
    return node ? this.cellOf.get(this.panel.visit(node, step)) : undefined;
  }

  // Whether a screen reader says the token of a step by itself, as it has the focus.
  speaks(step) {
    return this.cellOf.has(step) && this.cellOf.get(step).element === document.activeElement;
  }

  show(step) {
    const hadFocus = this.list.contains(document.activeElement);
    if (this.current?.element) this.current.element.setAttribute("aria-selected", "false");
    this.current = this.at(step);
    this.figures.replaceChildren(...visible(this.current ? this.words(this.current) : ""));
    if (!this.cells.length) return;
    const open = this.current || this.cells[0]; // the one that can have the focus
    this.draw(open.index - (open.index % BLOCK));
    const marked = (index, isLater) => this.cells[index].element.classList.toggle("later", isLater);
    while (this.passed < this.end && this.cells[this.passed].step <= step) marked(this.passed++, false);
    while (this.passed > this.first && this.cells[this.passed - 1].step > step) marked(--this.passed, true);
    if (this.open?.element) this.open.element.tabIndex = -1;
    this.open = open;
    open.element.tabIndex = 0;
    if (this.current) open.element.setAttribute("aria-selected", "true");
    if (hadFocus) open.element.focus({ preventScroll: true });
    const [box, inner] = [this.list, open.element].map((element) => element.getBoundingClientRect());
    if (inner.top < box.top || inner.bottom > box.bottom) this.list.scrollTop += inner.top - box.top - box.height / 3;
  }

  press(element) {
    if (element) this.panel.goTo(this.cells[element.dataset.at].step);
  }

  // Up and down go to the cell above and below; all other keys are those of the timeline.
  goAcross(event) {
    const way = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!way || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const place = (cell) => cell.element.getBoundingClientRect();
    const from = this.current || this.cells[0];
    const here = place(from);
    let [row, nearest, distance] = [null, null, Infinity];
    for (let index = from.index + way; this.cells[index]?.element; index += way) {
      const { top, left } = place(this.cells[index]);
      if (top === here.top) continue;
      row ??= top;
      if (top !== row) break;
      if (Math.abs(left - here.left) < distance) [nearest, distance] = [this.cells[index], Math.abs(left - here.left)];
    }
    const goal = nearest || this.cells[from.index + way];
    if (goal) this.panel.goTo(goal.step);
  }
}
