// The tried continuations of one sample: the text as a trunk, and beside it the branches that were taken back.

const PIECE_SHOWN = 160; // characters

class Tree {
  constructor(panel) {
    this.panel = panel;
    const { parents } = panel.sample.tried;
    this.count = panel.sample.rollbacks.length;
    this.children = parents.map(() => []);
    for (let node = 1; node < parents.length; node += 1) this.children[parents[node]].push(node);
    this.stays = new Set(panel.path(panel.last));
    this.rollbacks = new Map(); // those that begin at each node
    for (const rollback of panel.sample.rollbacks) {
      const here = this.rollbacks.get(rollback.from) || [];
      this.rollbacks.set(rollback.from, [...here, rollback]);
    }
    this.items = []; // in the order in which they are made; each with the first step that shows it
    this.itemOf = parents.map(() => null);
    this.element = make("section", "tree");
    this.element.setAttribute("aria-label", "Tried continuations, sample " + panel.sample.number);
    const last = panel.last;
    const counts = counted(panel.steps.rollbacks[last], "rollback") + " of " + counted(panel.steps.undone[last], "token");
    this.element.append(make("h3", "", "Tried continuations"), make("p", "note", counts), this.build());
    this.items.sort((one, other) => one.first - other.first);
    this.visible = 0;
    for (const item of this.items) item.element.classList.add("later");
  }

  build() {
    this.list = make("ul");
    const waiting = [{ list: this.list, node: 0 }];
    while (waiting.length) {
      const { list, node } = waiting.pop();
      waiting.push(...this.branch(list, node).reverse());
    }
    return this.list;
  }

  // Write a branch from a node on into a list; what branches off it is still to be written.
  branch(list, node) {
    const beside = [];
    let run = [];
    for (let at = node; at !== undefined; ) {
      if (at) run.push(at);
      const children = this.children[at];
      const ends = this.rollbacks.get(at);
      if (children.length === 1 && !ends) {
        at = children[0];
        continue;
      }
      const trunk = children.find((child) => this.stays.has(child));
      const item = this.makeItem(run, ends || []);
      list.append(item);
      const others = children.filter((child) => child !== trunk);
      if (others.length) {
        const sub = make("ul");
        item.append(sub);
        beside.push(...others.map((child) => ({ list: sub, node: child })));
      }
      run = [];
      at = trunk;
    }
    return beside;
  }

  makeItem(run, ends) {
    const { panel } = this;
    const element = make("li");
    const text = run.map((node) => panel.sample.tried.pieces[node]).join("");
    const shown = text.length > PIECE_SHOWN ? "…" + text.slice(-PIECE_SHOWN) : text;
    const button = make("button", "branch", shown.replaceAll("\n", "↵") || "(begin)");
    button.type = "button";
    const last = run.length ? panel.visits[run[run.length - 1]][0] : 0;
    button.addEventListener("click", () => panel.goTo(last));
    button.title = "step " + last;
    const stays = !run.length || this.stays.has(run[run.length - 1]);
    element.className = stays ? "stays" : "gone";
    element.append(button);
    for (const rollback of ends) {
      const why = make("button", "why", panel.text(rollback.why));
      why.type = "button";
      why.addEventListener("click", () => panel.goTo(rollback.step));
      element.append(why);
    }
    const item = { element, button, first: run.length ? panel.visits[run[0]][0] : 0 };
    this.items.push(item);
    for (const node of run) this.itemOf[node] = item;
    if (!run.length) this.itemOf[0] = item;
    return element;
  }

  show(step) {
    while (this.visible < this.items.length && this.items[this.visible].first <= step)
      this.items[this.visible++].element.classList.remove("later");
    while (this.visible > 0 && this.items[this.visible - 1].first > step)
      this.items[--this.visible].element.classList.add("later");
    if (this.current) this.current.button.removeAttribute("aria-current");
    this.current = this.itemOf[this.panel.steps.node[step]];
    if (!this.current) return;
    this.current.button.setAttribute("aria-current", "step");
    const [box, button] = [this.list, this.current.button].map((element) => element.getBoundingClientRect());
    if (button.top < box.top || button.bottom > box.bottom) this.list.scrollTop += button.top - box.top - box.height / 3;
  }
}
