// The samples of a trace: first the step after ``#step=`` in the address, else the last one.

const timeline = new Timeline();
const asked = () => Number((/^#step=(\d+)$/.exec(location.hash) || ["", Infinity])[1]);
timeline.load(JSON.parse(byId("run").textContent).samples);
timeline.go(asked());
window.addEventListener("hashchange", () => timeline.go(asked()));
