import { useEffect, useState } from "preact/hooks";

/** Parameters of each page, in the order of its address. `number` counts the pages of an account's purchases. */
const PARAMETERS = {
  applications: [],
  application: ["application"],
  account: ["application", "account", "number"],
  customer: ["application", "customer"],
  import: ["application"],
  sandbox: ["account"],
  requests: [],
} as const;

type Page = keyof typeof PARAMETERS;

/** A page with its parameters, as texts. */
export type RouteTo<Name extends Page> = Name extends Page
  ? { readonly page: Name } & Readonly<Record<(typeof PARAMETERS)[Name][number], string>>
  : never;

export type Route = RouteTo<Page>;

export const addressOf = ({ page, ...parameters }: Route): string => {
  const values: Readonly<Record<string, string>> = parameters;
  const parts = [page, ...PARAMETERS[page].map((name) => values[name] ?? "")];
  return `#/${parts.map(encodeURIComponent).join("/")}`;
};

export const accountAddress = (application: string, account: string): string =>
  addressOf({ page: "account", application, account, number: "1" });

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

const isPage = (name: string): name is Page => Object.hasOwn(PARAMETERS, name);

/** The page of an address; the list of applications where it names none. */
const routeOf = (hash: string): Route => {
  const [page = "", ...values] = hash.replace(/^#\//, "").split("/").map(decoded);
  if (!isPage(page)) return { page: "applications" };
  const parameters = PARAMETERS[page].map((name, index) => [name, values[index] ?? ""]);
  return { page, ...Object.fromEntries(parameters) } as Route;
};

export const go = (address: string): void => {
  location.hash = address;
};

export const useRoute = (): Route => {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const follow = (): void => setRoute(routeOf(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
};
