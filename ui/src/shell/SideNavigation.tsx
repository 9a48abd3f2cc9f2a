import { Link } from "@tanstack/react-router";
import { Button, Icon, Menu } from "@/components";
import { useStore } from "@/lib/store";
import { Brand } from "./Brand";
import { ConnectionIndicator } from "./ConnectionIndicator";
import { PLACES } from "./navigation";
import { Keys } from "./ShortcutHelp";
import { chooseTheme, theme } from "./theme";

interface SideNavigationProps {
  caller: { name: string; role: string; canSignOut: boolean };
  onSearch: () => void;
  onHelp: () => void;
  onSignOut: () => void;
  /** Called when a page was chosen: the drawer of phones closes. */
  onNavigate?: () => void;
}

const LINK =
  "flex h-8 items-center gap-2.5 rounded-md px-2 font-medium text-ink-2 text-sm hover:bg-hover hover:text-ink";

/** The pages, the search and the viewer. */
export function SideNavigation({ caller, onSearch, onHelp, onSignOut, onNavigate }: SideNavigationProps) {
  const chosen = useStore(theme);
  return (
    <div className="flex h-full flex-col gap-3 p-3">
      <Link to="/" onClick={onNavigate} className="px-1.5 py-1">
        <Brand />
      </Link>
      <button
        type="button"
        onClick={onSearch}
        className="flex h-8 items-center gap-2 rounded-md border border-line-strong bg-surface px-2 text-ink-3 text-xs shadow-card hover:bg-hover"
      >
        <Icon name="search" size={14} />
        <span className="flex-1 text-left">Search</span>
        <Keys keys="mod+k" />
      </button>
      <nav aria-label="Pages" className="flex flex-1 flex-col gap-3 overflow-y-auto">
        {PLACES.map((group, index) => (
          <ul key={index} className="grid gap-0.5">
            {group.map((place) => (
              <li key={place.to}>
                <Link
                  to={place.to}
                  onClick={onNavigate}
                  activeOptions={{ exact: place.to === "/", includeSearch: false }}
                  activeProps={{ "aria-current": "page", className: "bg-accent-soft !text-accent-text" }}
                  className={LINK}
                >
                  <Icon name={place.icon} />
                  {place.label}
                </Link>
              </li>
            ))}
          </ul>
        ))}
      </nav>
      <div className="grid gap-2 border-line border-t pt-3">
        <div className="flex items-center justify-between px-1.5">
          <ConnectionIndicator />
          <div className="flex">
            <Button look="quiet" small icon="keyboard" label="Keyboard shortcuts" onClick={onHelp} />
            <Menu
              look="quiet"
              small
              up
              icon={chosen === "dark" ? "moon" : chosen === "light" ? "sun" : "system"}
              label="Theme"
              items={[
                {
                  label: "System",
                  icon: "system",
                  checked: chosen === "system",
                  onSelect: () => chooseTheme("system"),
                },
                { label: "Light", icon: "sun", checked: chosen === "light", onSelect: () => chooseTheme("light") },
                { label: "Dark", icon: "moon", checked: chosen === "dark", onSelect: () => chooseTheme("dark") },
              ]}
            />
          </div>
        </div>
        <div className="flex items-center gap-2 px-1.5 text-xs">
          <span className="grid size-6 place-items-center rounded-full bg-idle-soft text-ink-2">
            <Icon name="user" size={14} />
          </span>
          <span className="min-w-0 flex-1">
            <span className="foreign block truncate font-medium leading-4">{caller.name}</span>
            <span className="block text-2xs text-ink-3 leading-4">{caller.role}</span>
          </span>
          {caller.canSignOut && <Button look="quiet" small icon="signout" label="Sign out" onClick={onSignOut} />}
        </div>
      </div>
    </div>
  );
}
