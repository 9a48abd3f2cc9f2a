import { remember, remembered } from "@/lib/storage";
import { Store } from "@/lib/store";

export type Theme = "system" | "light" | "dark";

const stored = remembered("theme");

/** The theme that the viewer chose. */
export const theme = new Store<Theme>(stored === "light" || stored === "dark" ? stored : "system");

const system = matchMedia("(prefers-color-scheme: dark)");

function show(): void {
  const chosen = theme.get();
  const dark = chosen === "dark" || (chosen === "system" && system.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

system.addEventListener("change", show);
theme.subscribe(show);

export function chooseTheme(chosen: Theme): void {
  remember("theme", chosen);
  theme.set(chosen);
}

/** Changes to the other one of light and dark, whatever the system has. */
export function toggleTheme(): void {
  chooseTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}
