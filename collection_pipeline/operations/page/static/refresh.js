// Replaces <main> by what the same address answers now, every data-refresh-seconds.
// The page is complete without this. It rests while the page is hidden or being typed into.
"use strict";

(() => {
  const note = document.getElementById("refresh-note");
  const region = () => document.getElementById("content");
  const seconds = Number(region()?.dataset.refreshSeconds || 0);
  if (!seconds) return;
  document.documentElement.classList.add("refreshes");

  let due = Date.now() + seconds * 1000;
  let busy = false;

  const say = (words) => {
    if (note.textContent !== words) note.textContent = words;
  };

  const isTyping = () => {
    const at = document.activeElement;
    return at !== null && region().contains(at) && at.matches("input, select, textarea");
  };

  // Where the reader is: the focused element by its id (all in <main> have one), and what is
  // folded open.
  const place = () => ({
    id: document.activeElement?.id || "",
    isInside: region().contains(document.activeElement),
    open: [...region().querySelectorAll("details[open][id]")].map((one) => one.id),
    x: window.scrollX,
    y: window.scrollY,
  });

  const returnTo = (was) => {
    for (const id of was.open) document.getElementById(id)?.setAttribute("open", "");
    // What is no longer shown leaves its reader in <main>, not at the top of the page.
    const same = was.id ? document.getElementById(was.id) : null;
    const at = same ?? (was.isInside ? region() : null);
    if (at && at !== document.activeElement) at.focus({ preventScroll: true });
    window.scrollTo(was.x, was.y);
  };

  const refresh = async () => {
    busy = true;
    try {
      const answer = await fetch(window.location.href, { cache: "no-store" });
      if (!answer.ok) throw new Error(String(answer.status));
      const read = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = read.getElementById("content");
      if (!fresh) throw new Error("no content");
      const was = place();
      region().replaceChildren(...fresh.childNodes);
      document.title = read.title;
      returnTo(was);
      say(region().dataset.refreshed);
    } catch {
      say(region().dataset.refreshFailed);
    } finally {
      due = Date.now() + seconds * 1000;
      busy = false;
    }
  };

  const look = () => {
    if (!busy && !document.hidden && !isTyping() && Date.now() >= due) refresh();
  };

  setInterval(look, 1000);
  document.addEventListener("visibilitychange", look);
})();
