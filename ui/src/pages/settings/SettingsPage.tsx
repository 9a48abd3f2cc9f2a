import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { sessionQuery } from "@/api/queries";
import { PageHeader, Tabs } from "@/components";
import { useTitle } from "@/lib/title";
import { AuditTab } from "./AuditTab";
import { ConfigurationTab } from "./ConfigurationTab";
import { TokensTab } from "./TokensTab";
import { VersionsTab } from "./VersionsTab";

const route = getRouteApi("/shell/settings");

const TABS = [
  { key: "tokens", label: "Tokens" },
  { key: "audit", label: "Audit" },
  { key: "configuration", label: "Configuration" },
  { key: "versions", label: "Versions" },
] as const;

type Key = (typeof TABS)[number]["key"];

/** Tokens, the audit, the configuration and the versions of the server. */
export function SettingsPage() {
  useTitle("Settings");
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const session = useQuery(sessionQuery);
  const first: Key = session.data?.role === "admin" ? "tokens" : "versions";
  const active = TABS.find((tab) => tab.key === search.tab)?.key ?? first;
  return (
    <>
      <PageHeader title="Settings" />
      <Tabs
        label="Settings"
        tabs={TABS}
        active={active}
        onChange={(tab) => void navigate({ search: { tab }, replace: true })}
      >
        <div className="p-4 md:px-6">
          {active === "tokens" && <TokensTab />}
          {active === "audit" && <AuditTab />}
          {active === "configuration" && <ConfigurationTab />}
          {active === "versions" && <VersionsTab />}
        </div>
      </Tabs>
    </>
  );
}
