"""Contrast of every word on a page, computed in the browser from what it really drew."""

CONTRAST_SCRIPT = """() => {
  const parsed = (text) => {
    const parts = text.match(/[\\d.]+/g).map(Number);
    return { rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1 };
  };
  const over = (top, below) => top.rgb.map((c, i) => c * top.alpha + below[i] * (1 - top.alpha));
  const ground = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const colour = parsed(getComputedStyle(at).backgroundColor);
      layers.unshift(colour);
      if (colour.alpha === 1) break;
    }
    return layers.reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => {
      const part = c / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const element = words.currentNode.parentElement;
    const isHidden = element.closest('.unseen, .skip, svg, option') || !element.checkVisibility();
    if (isHidden || !words.currentNode.textContent.trim()) continue;
    const style = getComputedStyle(element);
    const below = ground(element);
    const [a, b] = [light(over(parsed(style.color), below)), light(below)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) {
      found.push(`${ratio.toFixed(2)}: ${words.currentNode.textContent.trim().slice(0, 40)}`);
    }
  }
  return found;
}"""
"""Evaluates to a list of what is below WCAG AA: the ratio and the words."""
