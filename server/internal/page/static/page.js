// Renews the page, streams answers, loads older rows, and adds keys. All of the page works without it. What is put into the
// page was rendered by the server; texts that stream are put in as text, never as HTML.
"use strict";

const $ = (selector, of = document) => of.querySelector(selector);
const all = (selector, of = document) => [...of.querySelectorAll(selector)];
const timeline = $("#timeline"), conversation = $("#conversation");
const live = $("#live"), news = $("#news");

// fetched returns a page of this server as a document.
async function fetched(url) {
  const response = await fetch(url, { headers: { Accept: "text/html" } });
  const html = await response.text();
  return new DOMParser().parseFromString(html, "text/html");
}

function state(word, kind) {
  if (!live) return;
  live.hidden = !word;
  live.className = kind ? "tag " + kind : "live";
  if (live.textContent !== word) live.textContent = word;
}

// atEnd reports whether the reader follows: the page's end is in view.
const atEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 48;
const toEnd = () => scrollTo({ top: document.documentElement.scrollHeight });

// swap puts what the server has rendered anew in the place of an element, unless somebody is writing in it.
function swap(id, doc) {
  const old = document.getElementById(id), made = doc.getElementById(id);
  if (!old || !made || old.contains(document.activeElement) && document.activeElement !== document.body) return;
  if (all("input:not([type=hidden]), textarea", old).some((f) => f.value !== f.defaultValue)) return;
  if (old.innerHTML !== made.innerHTML) old.replaceChildren(...made.childNodes);
}

// put puts a row or a turn in, or renews it. What is open stays open.
function put(parent, made, before) {
  const old = document.getElementById(made.id);
  if (!old) {
    parent.insertBefore(made, before || null);
    return 1;
  }
  let added = 0;
  if (made.classList.contains("turn")) {
    for (const row of all(":scope > .row", made)) added += put(old, row);
  }
  const was = $(":scope > summary", old), is = $(":scope > summary", made);
  if (was && is && was.innerHTML !== is.innerHTML) was.replaceChildren(...is.childNodes);
  if (old.className !== made.className) old.className = made.className;
  return added;
}

let writing = ""; // the event whose text streams
let seen = 0; // rows that are new since the reader was at the end

// renew brings what is new. Nothing moves unless the reader is at the end.
async function renew() {
  const doc = await fetched(location.href);
  const follows = atEnd();
  for (const id of ["facts", "waits", "aside"]) swap(id, doc);
  if (conversation) {
    swap("conversation", doc);
    const made = $("#conversation", doc);
    if (made) conversation.dataset.last = made.dataset.last;
    if (!writing) $("#partial").hidden = true; // the whole answer is there
  }
  if (timeline) {
    let added = 0;
    const end = $(".legend", timeline);
    for (const turn of all(".turn", doc)) added += put(timeline, turn, end);
    const made = $("#timeline", doc);
    if (made) timeline.dataset.last = made.dataset.last;
    if (added) {
      all(":scope > p.muted", timeline).forEach((p) => p.remove());
      seen = follows ? 0 : seen + added;
      news.replaceChildren();
      if (seen) {
        const button = document.createElement("button");
        button.textContent = seen === 1 ? "1 new row" : seen + " new rows";
        button.onclick = () => { seen = 0; toEnd(); };
        news.append(button);
      } else news.textContent = "Event " + timeline.dataset.last + " is the last. New rows come here.";
    }
  }
  if (follows) toEnd();
}

// later calls a function once, a moment after the last of many calls.
function later(f, ms) {
  let timer = 0, running = false, again = false;
  return async function call() {
    clearTimeout(timer);
    if (running) { again = true; return; }
    timer = setTimeout(async () => {
      running = true;
      try { await f(); } catch { /* the stream says that there is no connection */ }
      running = false;
      if (again) { again = false; call(); }
    }, ms);
  };
}

const renewSoon = later(renew, 120);
let source = null;

function follow() {
  const url = document.body.dataset.follow;
  if (!url || source || document.hidden || !(timeline || conversation)) return;
  if (timeline && $(".more a[rel=end]", timeline)) return; // a page of older rows stays as it is
  const last = (timeline || conversation).dataset.last || "0";
  source = new EventSource(url + "&after=" + last);
  source.onopen = () => {
    state("live");
    writing = ""; // the first partial event of a connection has all of the text so far
  };
  source.onerror = () => {
    state("not connected", "error");
    if (source && source.readyState === EventSource.CLOSED) {
      source = null;
      setTimeout(follow, 5000);
    }
  };
  source.onmessage = (e) => {
    if (e.lastEventId) (timeline || conversation).dataset.last = e.lastEventId;
    writing = "";
    renewSoon();
  };
  source.addEventListener("partial", (e) => partial(JSON.parse(e.data)));
  source.addEventListener("run", (e) => {
    const running = JSON.parse(e.data).running;
    const stop = $("#stop");
    if (stop) stop.hidden = !running;
    if (!running) writing = "";
    state(running ? "running" : "live");
    renewSoon();
  });
}

function unfollow() {
  if (source) source.close();
  source = null;
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return unfollow();
  if (document.body.dataset.follow) renewSoon();
  follow();
});

// A streamed answer: text as it comes.
function partial(event) {
  const box = $("#partial");
  if (!box) return;
  const text = (event.content?.parts || []).filter((p) => p.text && !p.thought).map((p) => p.text).join("");
  if (!text) return;
  const follows = atEnd(), into = $("bdi", box);
  if (writing !== event.id) into.textContent = "";
  writing = event.id;
  $(".by", box).textContent = event.author || "agent";
  into.textContent += text;
  box.hidden = false;
  if (follows) toEnd();
}

// The chat's form is sent without leaving the page.
const chat = $("form[data-chat]");
if (chat) {
  chat.addEventListener("submit", async (e) => {
    e.preventDefault();
    const body = new FormData(chat), trouble = $("#trouble");
    if (!body.get("message").trim() && !$("#file").files.length) return;
    body.set("script", "1");
    trouble.hidden = true;
    const said = $("#say").value;
    $("#say").value = "";
    $("#file").value = "";
    try {
      const response = await fetch(chat.action, { method: "POST", body });
      if (!response.ok) {
        const doc = new DOMParser().parseFromString(await response.text(), "text/html");
        throw new Error($(".note", doc)?.textContent || "The message was not taken.");
      }
      chat.elements.id.value = ""; // the next message is another input
      follow();
      toEnd();
    } catch (err) {
      $("#say").value = said;
      trouble.textContent = err.message + " Your message is still in the field.";
      trouble.hidden = false;
    }
  });
  const stop = $("#stop");
  stop.addEventListener("submit", async (e) => {
    e.preventDefault();
    await fetch(stop.action, { method: "POST" });
    renewSoon();
  });
  $("#say").addEventListener("keydown", (e) => {
    if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
      e.preventDefault();
      chat.requestSubmit();
    }
    if (e.key === "Escape" && !stop.hidden) stop.requestSubmit();
  });
  toEnd();
}

// Rows are filled when they are opened.
async function fill(open) {
  if (!open || !open.dataset.fetch) return;
  const url = open.dataset.fetch;
  delete open.dataset.fetch;
  try {
    const made = $(".row > .open", await fetched(url));
    if (made) open.replaceChildren(...made.childNodes);
  } catch { open.dataset.fetch = url; }
}
document.addEventListener("toggle", (e) => {
  if (e.target.open && e.target.classList?.contains("row")) fill($(":scope > .open", e.target));
}, true);

// Older rows are put above, and what is read stays where it is.
async function older(link) {
  if (link.dataset.busy) return;
  link.dataset.busy = "1";
  const doc = await fetched(link.href);
  const first = $(".turn", timeline), height = document.documentElement.scrollHeight, top = scrollY;
  for (const turn of all(".turn", doc)) {
    const old = document.getElementById(turn.id);
    if (!old) { timeline.insertBefore(turn, first); continue; }
    const begin = $(":scope > .row", old);
    for (const row of all(":scope > .row", turn)) if (!document.getElementById(row.id)) old.insertBefore(row, begin);
  }
  const more = $("#older", doc);
  if (more) link.replaceWith(more); else link.parentElement.remove();
  scrollTo(0, top + document.documentElement.scrollHeight - height);
  if (more) watchOlder();
}
function watchOlder() {
  const link = $("#older");
  if (!link) return;
  link.addEventListener("click", (e) => { e.preventDefault(); older(link); });
  let moved = false; // only a reader who scrolls up asks for more
  addEventListener("scroll", () => { moved = true; }, { once: true });
  new IntersectionObserver((seen) => { if (moved && seen[0].isIntersecting) older(link); }).observe(link);
}
if (timeline) watchOlder();

// Keys: none in a field, none needed.
const shown = (e) => e.checkVisibility();
function move(selector, by) {
  const rows = all(selector).filter(shown);
  const at = rows.findIndex((r) => r.contains(document.activeElement));
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by];
  if (!next) return;
  const focus = next.matches("summary, a") ? next : $("summary", next);
  focus?.focus();
  focus?.scrollIntoView({ block: "nearest" });
}
let went = false; // after g
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select, dialog")) return;
  const keys = {
    j: () => move(timeline ? ".row > summary, .turn > summary" : ".rows .title", 1),
    k: () => move(timeline ? ".row > summary, .turn > summary" : ".rows .title", -1),
    n: () => move(".row.change, .row.deny, .row.wait, .row.error", 1),
    p: () => move(".row.change, .row.deny, .row.wait, .row.error", -1),
    o: () => {
      const turn = document.activeElement.closest(".turn");
      if (!turn) return;
      turn.open = true;
      const rows = all(":scope > .row", turn), open = rows.some((r) => !r.open);
      rows.forEach((r) => { r.open = open; });
    },
    e: () => { seen = 0; toEnd(); },
    g: () => { went = true; setTimeout(() => { went = false; }, 1000); },
    s: () => { if (went) location.href = "/"; },
    w: () => { if (went) location.href = "/waiting"; },
    "/": () => { $("#q")?.focus(); },
    "?": () => $("#keys")?.showModal(),
  };
  if (!keys[e.key]) return;
  if (!"sw".includes(e.key)) e.preventDefault();
  keys[e.key]();
});

// A long action says that it is under way.
document.addEventListener("submit", (e) => {
  const button = e.submitter;
  if (e.defaultPrevented || !button?.dataset.busy) return;
  setTimeout(() => { button.textContent = button.dataset.busy; button.disabled = true; });
});

follow();
