"""The page that shows clips in the maintainer's own browser: one file, nothing loaded from elsewhere."""

from __future__ import annotations

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<title>accuracy-tui</title>
<style nonce="NONCE">
 body{margin:0;background:#111;color:#eee;font:16px system-ui,sans-serif;text-align:center}
 h1{font-size:2rem;margin:.6em;overflow-wrap:anywhere}
 video{width:98vw;max-height:70vh;object-fit:contain;background:#000}
 p{color:#aaa;margin:.5em}
 button{font:inherit;font-size:1.2rem;margin:.3em;padding:.4em 1.2em;border:1px solid #555;border-radius:.4em;
  background:#222;color:#eee}
 button:hover{background:#333}
</style>
<h1 id="query">waiting for the console</h1>
<video id="clip" muted autoplay loop playsinline></video>
<p id="said"></p>
<div><button data-key="y">y yes</button><button data-key="n">n no</button><button data-key="s">s skip</button>
<button data-key="u">u undo</button></div>
<p>y n s u judge &middot; space pause &middot; &larr; &rarr; 1 s &middot; . , picture
 &middot; + - 0 speed &middot; w 5 s around</p>
<script nonce="NONCE">
"use strict";
const query = document.getElementById("query"), video = document.getElementById("clip");
const said = document.getElementById("said");
let number = 0, playing = "", since = -1;
const tell = (what) => fetch("event", {method: "POST", body: JSON.stringify({clip: number, ...what}),
                                       headers: {"Content-Type": "application/json"}}).catch(() => {});
const press = (key) => { if (number) tell({key}); };
for (const button of document.querySelectorAll("button"))
  button.addEventListener("click", () => { press(button.dataset.key); button.blur(); });
const step = 1 / 25;
const controls = {
  "pause": () => video.paused ? video.play() : video.pause(),
  "faster": () => { video.playbackRate = Math.min(8, video.playbackRate * 1.5); },
  "slower": () => { video.playbackRate = Math.max(.25, video.playbackRate / 1.5); },
  "normal speed": () => { video.playbackRate = 1; },
  "step": () => { video.pause(); video.currentTime += step; },
  "step back": () => { video.pause(); video.currentTime -= step; },
  "forward": () => { video.currentTime += 1; },
  "back": () => { video.currentTime -= 1; },
  "restart": () => { video.currentTime = 0; }};
const keys = {" ": "pause", "+": "faster", "-": "slower", "0": "normal speed", ".": "step", ",": "step back",
              "ArrowRight": "forward", "ArrowLeft": "back", "r": "restart"};
addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if ("ynusw".includes(event.key)) press(event.key);
  else if (keys[event.key]) controls[keys[event.key]]();
  else return;
  event.preventDefault();
});
video.addEventListener("playing", () => tell({playing: true}));
video.addEventListener("error", () => { if (number) said.textContent = "this clip cannot be played"; });
async function follow() {
  for (;;) {
    try {
      const answer = await fetch("state?since=" + since);
      if (!answer.ok) throw new Error(answer.status);
      const state = await answer.json();
      since = state.version;
      const showing = number ? playing : "";
      number = state.clip;
      playing = number ? [state.video, state.query, state.place].join("\\n") : "";
      if (playing === showing) {
        if (number && !video.paused && video.readyState > 2) tell({playing: true});
      } else {
        query.textContent = number ? state.query : "nothing to judge just now";
        said.textContent = state.place;
        if (number) {
          video.src = state.video;
          video.playbackRate = 1;
          video.play().catch(() => {});
        } else { video.removeAttribute("src"); video.load(); }
      }
      for (const control of state.controls) controls[control]?.();
    } catch (error) {
      said.textContent = "no answer; this page goes on once the console and the tunnel to it are back";
      await new Promise((wake) => setTimeout(wake, 2000));
    }
  }
}
follow();
</script></html>
"""
"""``NONCE`` stands for what the page's policy names."""
