// The samples of a trace: they open at the step after ``#step=`` in the address, else at the first.

const timeline = new Timeline();
const asked = () => Number((/^#step=(\d+)$/.exec(location.hash) || ["", 1])[1]);
timeline.load(JSON.parse(byId("run").textContent).samples);
timeline.go(asked());
window.addEventListener("hashchange", () => timeline.go(asked()));
