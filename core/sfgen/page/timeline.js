// The timeline: from step to step with keys and mouse, all samples together.

const SHOWN_AT_FIRST = 4; // samples
const LONGEST_PAUSE = 1000; // milliseconds; as in a replay on a terminal
const PAGE = 10; // steps
const BACK_REST = 500; // milliseconds for which a rollback is looked at
const MOST_SEEN = 20; // steps a second at which it can be
const IDLE = 40; // milliseconds until it is looked again whether a step has come
const MAP_REST = 200; // milliseconds for which the map is left as it is while steps come
const WRITTEN = "select, textarea, input:not([type=range], [type=checkbox])"; // what takes the keys itself

const byId = (id) => document.getElementById(id);

class Timeline {
  constructor() {
    this.panels = [];
    this.last = this.step = 0;
    this.timer = null;
    this.isGrowing = false; // whether steps may still come
    this.staysLast = false; // whether whoever looks on wants to see the last step, whichever that is
    this.onRest = () => {}; // called when nothing is played any more
    this.listen();
  }

  load(samples) {
    this.play(false);
    this.panels = samples.map((sample) => new Panel(sample, (step) => this.go(step)));
    this.last = Math.max(...this.panels.map((panel) => panel.last));
    this.step = 0;
    this.staysLast = false;
    this.buildChoice();
    byId("samples").replaceChildren(...this.panels.map((panel) => panel.element));
    byId("step").max = this.last;
    byId("timeline").hidden = false;
    byId("rollback").hidden = !this.rollbacks().length;
  }

  // Take the steps that have come to the samples.
  grow() {
    for (const panel of this.panels) panel.grow();
    this.last = Math.max(...this.panels.map((panel) => panel.last));
    byId("step").max = this.last;
    byId("rollback").hidden = !this.rollbacks().length;
    if (this.timer === null) this.go(this.staysLast ? this.last : this.step, true);
  }

  get chosen() {
    return this.panels.filter((panel) => !panel.element.hidden);
  }

  buildChoice() {
    for (const label of byId("chosen").querySelectorAll("label")) label.remove();
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
    window.addEventListener("resize", () => this.drawMap());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.drawMap());
  }

  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || !this.panels.length || event.target.closest(WRITTEN)) return;
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -PAGE, PageDown: PAGE, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.go(this.step + steps[event.key]);
    else if (event.key === "r") this.nextRollback();
    else if (event.key === " " && !/^(BUTTON|SUMMARY)$/.test(event.target.tagName) && event.target.type !== "checkbox")
      this.play(this.timer === null);
    else return;
    event.preventDefault();
  }

  go(step, isPlayed = false) {
    if (!isPlayed) {
      this.play(false);
      this.staysLast = step >= this.last;
    }
    byId("said").setAttribute("aria-live", isPlayed ? "off" : "polite"); // nobody can listen so fast
    this.step = Math.max(0, Math.min(this.last, step));
    for (const panel of this.chosen) panel.show(this.step);
    const where = "step " + this.step + " of " + this.last;
    byId("step").value = this.step;
    byId("step").setAttribute("aria-valuetext", where);
    byId("count").textContent = where;
    byId("said").textContent = this.heard();
    this.drawMap();
  }

  heard() {
    const said = this.chosen.map((panel) => panel.heard(panel.step));
    if (said.length < 2) return said.join("");
    return this.chosen.map((panel, index) => "Sample " + panel.sample.number + ": " + said[index]).join(" ");
  }

  play(on) {
    clearTimeout(this.timer);
    this.timer = null;
    byId("play").textContent = on ? "❚❚" : "▶";
    byId("play").setAttribute("aria-label", on ? "Pause" : "Play");
    byId("said").setAttribute("aria-live", on ? "off" : "polite");
    if (!on) {
      this.onRest();
      return;
    }
    if (this.step === this.last && !this.isGrowing) this.go(0, true);
    this.playOn();
  }

  playOn() {
    this.timer = setTimeout(() => {
      if (this.step < this.last) this.go(this.step + 1, true);
      if (this.step < this.last || this.isGrowing) this.playOn();
      else this.play(false);
    }, this.pause());
  }

  pause() {
    if (this.step === this.last) return IDLE;
    const pace = Number(byId("pace").value);
    const isBack = this.chosen.some((panel) => panel.steps.kind[this.step] === "back");
    if (pace) return Math.max(1000 / pace, isBack && pace <= MOST_SEEN ? BACK_REST : 0);
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
    if (this.isGrowing && performance.now() - this.drawnAt < MAP_REST) return;
    const canvas = byId("map");
    const scale = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(canvas.clientWidth * scale));
    const rows = this.chosen;
    const style = getComputedStyle(document.documentElement);
    const key = [width, this.last, this.panels.map((panel) => panel.element.hidden), style.getPropertyValue("--line")].join();
    if (key !== this.drawn) {
      this.drawn = key;
      this.drawnAt = performance.now();
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
      const drawn = Math.ceil(height * (colour === "--back" ? 1 : colour === "--line" ? 0.4 : 0.7)); // they differ without colours, too
      context.fillRect(left, top + height - drawn, Math.max(1, Math.floor((step + 1) * width) - left), drawn);
    };
    kind.forEach((name, step) => draw(step, colours[name] || "--line"));
    kind.forEach((name, step) => name === "back" && draw(step, "--back")); // where many steps share a pixel
  }
}
