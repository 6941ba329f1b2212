(() => {
  const rgb = (colour) => (colour.match(/[\d.]+/g) || []).slice(0, 3).map(Number);
  const shown = (element) => element.checkVisibility({ contentVisibilityAuto: true }) && element.getBoundingClientRect().height > 0;
  const body = getComputedStyle(document.body);
  const wrong = [];
  const figures = [...document.querySelectorAll("figure")];
  for (const figure of figures) {
    const title = figure.querySelector("h3")?.textContent;
    const svg = figure.querySelector('svg[role="img"]');
    if (!svg) { wrong.push(`${title}: no image`); continue; }
    for (const part of ["title", "desc"]) {
      const text = svg.querySelector(part);
      if (!text?.textContent.trim() || !svg.getAttribute("aria-labelledby").split(" ").includes(text.id)) wrong.push(`${title}: no ${part}`);
    }
    if (!figure.querySelector("table tbody tr")) wrong.push(`${title}: no table`);
    const box = svg.viewBox.baseVal;
    for (const text of svg.querySelectorAll("text")) {
      const place = text.getBoundingClientRect(), of = svg.getBoundingClientRect();
      if (place.left < of.left - 1 || place.right > of.right + 1 || place.top < of.top - 1 || place.bottom > of.bottom + 1)
        wrong.push(`${title}: "${text.textContent}" is cut off in ${box.width} x ${box.height}`);
    }
    const ticks = [...svg.querySelectorAll("text.tick, text.mark")].map((text) => ({ text: text.textContent, at: text.getBoundingClientRect() }));
    ticks.forEach((a, i) => ticks.slice(i + 1).forEach((b) => {
      if (a.at.left < b.at.right - 1 && b.at.left < a.at.right - 1 && a.at.top < b.at.bottom - 3 && b.at.top < a.at.bottom - 3)
        wrong.push(`${title}: "${a.text}" and "${b.text}" overlap`);
    }));
  }
  const clips = (element) => !!element && (["auto", "hidden", "scroll"].includes(getComputedStyle(element).overflowX) || clips(element.parentElement));
  if (document.documentElement.scrollWidth > window.innerWidth) {
    for (const element of document.querySelectorAll("body *")) {
      if (element.getBoundingClientRect().right > window.innerWidth + 1 && !clips(element.parentElement))
        wrong.push(`<${element.tagName.toLowerCase()} class="${element.getAttribute("class") || ""}"> sticks out: ${element.textContent.slice(0, 60)}`);
    }
  }
  const tables = [...document.querySelectorAll("figure table")];
  const long = tables.filter((table) => table.closest(".long"));
  return {
    Width: document.documentElement.scrollWidth, Inner: window.innerWidth,
    Background: rgb(body.backgroundColor), Ink: rgb(body.color),
    Figures: figures.length, Wrong: wrong,
    Headings: [...document.querySelectorAll("h1, h2, h3")].map((h) => h.textContent),
    Shown: tables.filter(shown).length, Long: long.length, LongShown: long.filter(shown).length,
  };
})();
