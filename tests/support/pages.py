"""The text that a page of a run shows, and the one that its events have, step by step."""

from __future__ import annotations

from typing import Any

from tests.support.command.browser import Browser

from sfgen import RolledBack, TokenChosen
from sfgen.trace import Recording
from sfgen_cli.live.moment import is_step


def texts_at_steps(recording: Recording) -> list[bytes]:
    """The text before the first step, and after each."""
    tokens: list[bytes] = []
    found = [b""]
    for _, event in recording.events:
        if isinstance(event, TokenChosen):
            tokens.append(event.data)
        elif isinstance(event, RolledBack):
            del tokens[event.position :]
        if is_step(event):
            found.append(b"".join(tokens))
    return found + found[-1:] * (recording.failure is not None)


def text_of(browser: Browser) -> str:
    """The text that stands; what was taken back is shown beside it."""
    tokens = browser.evaluate("[...document.querySelectorAll('.token[data-step]')].map(token => token.textContent)")
    return "".join(tokens)


def step_of(browser: Browser) -> int:
    return int(browser.evaluate("document.getElementById('step').value"))


def check_looks(browser: Browser, element: str, *, dark: bool) -> None:
    """The element has light letters on a dark ground, or the other way round, and nothing moves."""
    colours = browser.evaluate(
        f"['backgroundColor', 'color'].map(name => getComputedStyle({element})[name].match(/\\d+/g).slice(0, 3)"
        ".reduce((sum, part) => sum + Number(part), 0) / 765)"
    )
    assert (colours[0] < 0.2 and colours[1] > 0.8) if dark else (colours[0] > 0.8 and colours[1] < 0.2)
    durations = "[...document.querySelectorAll('*')].map(one => getComputedStyle(one).transitionDuration)"
    assert set(browser.evaluate(durations)) == {"0s"}


_FAINT = r"""((least) => {
  const numbers = (colour) => {
    const [red, green, blue, alpha = 1] = (colour.match(/[\d.]+(e-?\d+)?/g) || [0, 0, 0, 0]).map(Number);
    return colour.startsWith("color(") ? [255 * red, 255 * green, 255 * blue, alpha] : [red, green, blue, alpha];
  };
  const over = ([r, g, b, alpha], ground) => [r, g, b].map((part, index) => alpha * part + (1 - alpha) * ground[index]);
  const linear = (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const faint = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode.data.trim();
    const element = texts.currentNode.parentElement;
    if (!text || !element.checkVisibility() || element.closest(".heard, :disabled, option, script")) continue;
    const boxes = [];
    for (let box = element; box !== document.body; box = box.parentElement) boxes.unshift(box);
    let ground = numbers(getComputedStyle(document.body).backgroundColor);
    let opacity = 1;
    for (const style of boxes.map((box) => getComputedStyle(box))) {
      opacity *= Number(style.opacity);
      ground = over(numbers(style.backgroundColor), ground);
    }
    const [r, g, b, alpha] = numbers(getComputedStyle(element).color);
    const lights = [over([r, g, b, alpha * opacity], ground), ground].map(light);
    const ratio = (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05);
    if (ratio < least) faint.push([element.className || element.tagName, text.slice(0, 20), ratio.toFixed(2)]);
  }
  return faint;
})"""


def faint_texts(browser: Browser, least: float = 4.5) -> list[Any]:
    """The texts that are seen, and whose contrast to their ground is less, as WCAG 2.2 measures it."""
    found = browser.evaluate(f"{_FAINT}({least})")
    assert isinstance(found, list)
    return found


def heard(browser: Browser) -> list[tuple[str, str, dict[str, Any]]]:
    """What a screen reader is told of a page, in order: roles, names and properties."""
    nodes = {node["nodeId"]: node for node in browser.send("Accessibility.getFullAXTree")["nodes"]}
    found, waiting = [], [next(iter(nodes.values()))]
    while waiting:
        node = waiting.pop()
        waiting += [nodes[child] for child in reversed(node.get("childIds", [])) if child in nodes]
        if not node["ignored"]:
            properties = {each["name"]: each["value"].get("value") for each in node.get("properties", [])}
            found.append((node["role"]["value"], node.get("name", {}).get("value", ""), properties))
    return found
