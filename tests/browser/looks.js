"use strict";

/* Visible texts whose contrast is less than WCAG asks for at level AA, and how many were measured. */
function faint() {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  // The colour of layers upon white, from the lowest to the uppermost, in parts of 255.
  const seen = (layers) => {
    canvas.fillStyle = "#fff";
    canvas.fillRect(0, 0, 1, 1);
    for (const [color, opacity] of layers) {
      canvas.globalAlpha = opacity;
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      canvas.globalAlpha = 1;
    }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = (color) => {
    const [red, green, blue] = color.map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [less, more] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (more + 0.05) / (less + 0.05);
  };
  const around = (element) => (element ? [...around(element.parentElement), element] : []);
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let measured = 0;
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement, style = getComputedStyle(element);
    if (!texts.currentNode.data.trim() || !element.checkVisibility({ visibilityProperty: true })) continue;
    if (element.closest(".hidden, :disabled, noscript")) continue;
    const layers = around(element).map((each) => getComputedStyle(each))
      .map((each) => [each.backgroundColor, Number(each.opacity)]);
    const opacity = layers.reduce((product, layer) => product * layer[1], 1);
    const size = parseFloat(style.fontSize),
      isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const ratio = contrast(seen([...layers, [style.color, opacity]]), seen(layers));
    measured += 1;
    if (ratio < (isLarge ? 3 : 4.5)) {
      found.push(`${ratio.toFixed(2)}: ${texts.currentNode.data.trim().slice(0, 40)}`);
    }
  }
  return { found, measured };
}

/* The number of elements that Tab should reach. */
function focusable() {
  return [...document.querySelectorAll('a[href], button, select, summary, input, [tabindex="0"]')]
    .filter((each) => !each.disabled && each.tabIndex >= 0 && each.checkVisibility({ visibilityProperty: true }))
    .length;
}

/* The element that has the focus, by when it first had it, and whether it has an outline. */
function focus() {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  element.dataset.visited ??= String(document.querySelectorAll("[data-visited]").length);
  return { number: Number(element.dataset.visited), outline: outlineStyle !== "none" && parseFloat(outlineWidth) > 0 };
}

/* Elements that stand out of the window on the right, where nothing scrolls. */
function wide() {
  return [...document.querySelectorAll("body *")]
    .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && !each.closest(".scroll, .hidden, .pane"))
    .map((each) => `${each.tagName} ${each.id || each.className}: ${each.getBoundingClientRect().right}`);
}
