// Keeps the page as the server would write it now: asks every second whether it has changed, and puts what has into what is shown. What the
// reader has opened, scrolled to or is about to click stays as it is. Without this script, the page reloads itself.
"use strict";
(() => {
  const gone = document.getElementById("gone");
  let etag = "";

  // morph makes an element of the page like one of the new page.
  const morph = (from, to) => {
    if (from.isEqualNode(to)) return;
    if (from.nodeName !== to.nodeName || from.id !== to.id) return from.replaceWith(document.importNode(to, true));
    if (from.nodeType !== Node.ELEMENT_NODE) { from.nodeValue = to.nodeValue; return; }
    // A table that is open, and what is chosen in a list, are the reader's.
    if (from.nodeName === "SELECT" && from.options.length === to.options.length) return;
    for (const { name } of [...from.attributes]) if (!to.hasAttribute(name) && name !== "open") from.removeAttribute(name);
    for (const { name, value } of to.attributes) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
    let at = from.firstChild;
    for (const child of [...to.childNodes]) {
      let same = at;
      if (child.id) same = [...from.children].find((c) => c.id === child.id);
      else while (same?.id) same = same.nextSibling;
      if (!same) { from.insertBefore(document.importNode(child, true), at); continue; }
      if (same === at) at = at.nextSibling;
      else from.insertBefore(same, at);
      morph(same, child);
    }
    while (at) { const next = at.nextSibling; at.remove(); at = next; }
  };

  const look = async () => {
    try {
      const response = await fetch(location.href, { headers: etag ? { "If-None-Match": etag } : {}, cache: "no-store" });
      if (response.status === 403 || response.status >= 500) throw new Error(response.statusText);
      gone.hidden = true;
      if (response.status === 304) return;
      etag = response.headers.get("ETag");
      const now = new DOMParser().parseFromString(await response.text(), "text/html");
      document.title = now.title;
      const main = now.querySelector("main");
      main.querySelector("#gone").hidden = gone.hidden;
      morph(document.querySelector("main"), main);
    } catch {
      gone.hidden = false;
    }
  };

  const every = async () => {
    if (!document.hidden) await look();
    setTimeout(every, 1000);
  };
  every();
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
})();
