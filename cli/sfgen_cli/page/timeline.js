// The timeline: from step to step with keys and mouse, all samples together.

const SHOWN_AT_FIRST = 4; // samples
const LONGEST_PAUSE = 1000; // milliseconds; as in a replay on a terminal
const PAGE = 10; // steps

const byId = (id) => document.getElementById(id);

class Timeline {
  constructor(samples) {
    this.panels = samples.map((sample) => new Panel(sample, (step) => this.go(step)));
    this.last = Math.max(...this.panels.map((panel) => panel.last));
    this.step = 0;
    this.timer = null;
    this.buildChoice();
    byId("samples").append(...this.panels.map((panel) => panel.element));
    byId("step").max = this.last;
    byId("timeline").hidden = false;
    byId("rollback").hidden = !this.rollbacks().length;
    this.listen();
    this.go(this.asked());
  }

  // The step after ``#step=`` in the address; else the last.
  asked() {
    const found = /^#step=(\d+)$/.exec(location.hash);
    return found ? Number(found[1]) : this.last;
  }

  get chosen() {
    return this.panels.filter((panel) => !panel.element.hidden);
  }

  buildChoice() {
    this.panels.forEach((panel, index) => {
      panel.element.hidden = index >= SHOWN_AT_FIRST;
      const label = make("label");
      const box = make("input");
      box.type = "checkbox";
      box.checked = !panel.element.hidden;
      box.addEventListener("change", () => {
        panel.element.hidden = !box.checked;
        this.arrange();
        this.go(this.step);
      });
      label.append(box, " " + panel.sample.number);
      byId("chosen").append(label);
    });
    byId("chosen").hidden = this.panels.length === 1;
    this.arrange();
  }

  arrange() {
    byId("samples").classList.toggle("several", this.chosen.length > 1);
  }

  listen() {
    byId("step").addEventListener("input", (event) => this.go(Number(event.target.value)));
    byId("first").addEventListener("click", () => this.go(0));
    byId("previous").addEventListener("click", () => this.go(this.step - 1));
    byId("next").addEventListener("click", () => this.go(this.step + 1));
    byId("last").addEventListener("click", () => this.go(this.last));
    byId("play").addEventListener("click", () => this.play(this.timer === null));
    byId("rollback").addEventListener("click", () => this.nextRollback());
    document.addEventListener("keydown", (event) => this.press(event));
    window.addEventListener("hashchange", () => this.go(this.asked()));
    window.addEventListener("resize", () => this.drawMap());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.drawMap());
  }

  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.tagName === "SELECT") return;
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -PAGE, PageDown: PAGE, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.go(this.step + steps[event.key]);
    else if (event.key === "r") this.nextRollback();
    else if (event.key === " " && !/^(BUTTON|SUMMARY)$/.test(event.target.tagName) && event.target.type !== "checkbox")
      this.play(this.timer === null);
    else return;
    event.preventDefault();
  }

  go(step, isPlayed = false) {
    if (!isPlayed) this.play(false);
    this.step = Math.max(0, Math.min(this.last, step));
    for (const panel of this.chosen) panel.show(this.step);
    const where = "step " + this.step + " of " + this.last;
    byId("step").value = this.step;
    byId("step").setAttribute("aria-valuetext", where);
    byId("count").textContent = where;
    const one = this.chosen.length === 1 ? this.chosen[0] : null;
    byId("said").textContent = one ? one.sentence(one.step) : where;
    this.drawMap();
  }

  play(on) {
    clearTimeout(this.timer);
    this.timer = null;
    byId("play").textContent = on ? "❚❚" : "▶";
    byId("play").setAttribute("aria-label", on ? "Pause" : "Play");
    byId("said").setAttribute("aria-live", on ? "off" : "polite"); // nobody can listen so fast
    if (!on) return;
    if (this.step === this.last) this.go(0, true);
    this.playOn();
  }

  playOn() {
    this.timer = setTimeout(() => {
      this.go(this.step + 1, true);
      if (this.step < this.last) this.playOn();
      else this.play(false);
    }, this.pause());
  }

  pause() {
    const pace = Number(byId("pace").value);
    if (pace) return 1000 / pace;
    const next = Math.min(this.step + 1, this.last);
    const pauses = this.chosen.map(({ steps, last }) => {
      const seconds = steps.seconds[Math.min(next, last)] - steps.seconds[Math.min(this.step, last)];
      return 1000 * seconds;
    });
    return Math.min(LONGEST_PAUSE, Math.max(0, ...pauses));
  }

  rollbacks() {
    const steps = this.chosen.flatMap((panel) => panel.sample.rollbacks.map((rollback) => rollback.step));
    return [...new Set(steps)].sort((one, other) => one - other);
  }

  nextRollback() {
    const steps = this.rollbacks();
    if (steps.length) this.go(steps.find((step) => step > this.step) ?? steps[0]);
  }

  // A line for each sample under the slider: forced tokens and rollbacks in their colours, and the present step.
  drawMap() {
    const canvas = byId("map");
    const scale = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(canvas.clientWidth * scale));
    const rows = this.chosen;
    const style = getComputedStyle(document.documentElement);
    const key = [width, this.panels.map((panel) => panel.element.hidden), style.getPropertyValue("--line")].join();
    if (key !== this.drawn) {
      this.drawn = key;
      const height = Math.round(6 * scale);
      canvas.width = width;
      canvas.height = Math.max(1, rows.length * height);
      canvas.style.height = rows.length * 6 + "px";
      rows.forEach((panel, row) => this.drawRow(canvas.getContext("2d"), panel, row * height, height - scale, style));
    }
  }

  drawRow(context, panel, top, height, style) {
    const colours = { forced: "--forced", back: "--back", moved: "--back", failed: "--back" };
    const width = context.canvas.width / (this.last + 1);
    const { kind } = panel.steps;
    const draw = (step, colour) => {
      context.fillStyle = style.getPropertyValue(colour);
      const left = Math.floor(step * width);
      context.fillRect(left, top, Math.max(1, Math.floor((step + 1) * width) - left), height);
    };
    kind.forEach((name, step) => draw(step, colours[name] || "--line"));
    kind.forEach((name, step) => name === "back" && draw(step, "--back")); // where many steps share a pixel
  }
}

new Timeline(JSON.parse(byId("run").textContent).samples);
