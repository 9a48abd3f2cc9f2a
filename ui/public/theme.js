// Sets the stored theme before anything is drawn.

(() => {
  let stored = null;
  try {
    stored = localStorage.getItem("turnout.theme");
  } catch {
    // Storage is off: the theme of the system holds.
  }
  const dark = stored === "dark" || (stored !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
