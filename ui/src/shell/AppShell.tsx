import { useQueryClient } from "@tanstack/react-query";
import { Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Schemas } from "@/api/client";
import { Button, toastError } from "@/components";
import { Toaster } from "@/components/Toaster";
import { ROOT } from "@/lib/page";
import { LiveProvider } from "@/live/LiveProvider";
import { signOut } from "@/session/session";
import { Brand } from "./Brand";
import { CommandPalette } from "./CommandPalette";
import type { Command } from "./commands";
import { ALL_PLACES } from "./navigation";
import { ShortcutHelp } from "./ShortcutHelp";
import { SideNavigation } from "./SideNavigation";
import { useShortcutKeys, useShortcuts } from "./shortcuts";
import { toggleTheme } from "./theme";
import { VersionBanner } from "./VersionBanner";

/** Surrounds the pages of a viewer who is signed in. */
export function AppShell({ session }: { session: Schemas["Session"] }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [open, setOpen] = useState<"search" | "help" | "menu" | null>(null);
  const close = () => setOpen(null);

  const leave = useCallback(async () => {
    try {
      await signOut(client);
    } catch (error) {
      toastError("You are still signed in", error);
    }
  }, [client]);
  const canSignOut = Boolean(session.csrf_token);
  const commands = useMemo<Command[]>(
    () => [
      { id: "theme", label: "Change between light and dark", icon: "moon", run: toggleTheme },
      { id: "help", label: "Keyboard shortcuts", icon: "keyboard", run: () => setOpen("help") },
      {
        id: "api",
        label: "API reference",
        icon: "external",
        run: () => window.open(`${ROOT}/api/docs`, "_blank", "noopener"),
      },
      ...(canSignOut ? [{ id: "sign-out", label: "Sign out", icon: "signout" as const, run: () => void leave() }] : []),
    ],
    [canSignOut, leave],
  );

  useShortcutKeys();
  useShortcuts([
    { keys: "mod+k", label: "Search", group: "Everywhere", everywhere: true, run: () => setOpen("search") },
    { keys: "?", label: "This help", group: "Everywhere", run: () => setOpen("help") },
    { keys: "/", label: "Filter the list", group: "Everywhere", run: focusFilter },
    { keys: "t", label: "Light or dark", group: "Everywhere", run: toggleTheme },
    ...ALL_PLACES.map((place) => ({
      keys: `g ${place.letter}`,
      label: place.label,
      group: "Go to",
      run: () => void navigate({ to: place.to }),
    })),
  ]);

  const navigation = (
    <SideNavigation
      caller={{ name: session.name, role: session.role, canSignOut }}
      onSearch={() => setOpen("search")}
      onHelp={() => setOpen("help")}
      onSignOut={leave}
      onNavigate={close}
    />
  );
  return (
    <LiveProvider>
      <a
        href="#main"
        className="-translate-y-12 fixed top-2 left-2 z-50 rounded-md bg-accent px-3 py-1.5 text-accent-ink focus:translate-y-0"
      >
        Skip to the page
      </a>
      <div className="flex h-dvh flex-col md:flex-row">
        <aside className="hidden w-56 shrink-0 border-line border-r bg-surface md:block">{navigation}</aside>
        <div className="flex h-12 shrink-0 items-center justify-between border-line border-b bg-surface px-3 md:hidden">
          <Brand />
          <div className="flex gap-1">
            <Button look="quiet" icon="search" label="Search" onClick={() => setOpen("search")} />
            <Button look="quiet" icon="menu" label="Pages" onClick={() => setOpen("menu")} />
          </div>
        </div>
        <PhoneMenu open={open === "menu"} onClose={close}>
          {navigation}
        </PhoneMenu>
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          <VersionBanner server={session.version} build={session.interface} />
          <Main />
        </div>
      </div>
      <CommandPalette open={open === "search"} onClose={close} commands={commands} />
      <ShortcutHelp open={open === "help"} onClose={close} />
      <Toaster />
    </LiveProvider>
  );
}

/** The page itself; it gets the focus when another page is opened, so that screen readers begin there. */
function Main() {
  const ref = useRef<HTMLElement>(null);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    ref.current?.focus({ preventScroll: true });
  }, [path]);
  return (
    <main ref={ref} id="main" tabIndex={-1} className="flex min-h-0 flex-1 flex-col overflow-y-auto outline-none">
      <Outlet />
    </main>
  );
}

function PhoneMenu({ open, onClose, children }: { open: boolean; onClose: () => void; children: React.ReactNode }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open && !ref.current?.open) ref.current?.showModal();
    if (!open && ref.current?.open) ref.current.close();
  }, [open]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it too
    <dialog
      ref={ref}
      aria-label="Pages"
      onClose={onClose}
      onClick={(event) => event.target === ref.current && onClose()}
      className="m-0 h-dvh max-h-none w-64 border-line border-r bg-surface p-0 backdrop:bg-black/40 md:hidden"
    >
      {open && children}
    </dialog>
  );
}

function focusFilter(): void {
  document.querySelector<HTMLElement>("[data-filter]")?.focus();
}
