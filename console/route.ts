import { useEffect, useState } from "preact/hooks";

export type Route =
  | { readonly page: "applications" }
  | { readonly page: "application"; readonly application: string }
  | {
      readonly page: "account";
      readonly application: string;
      readonly account: string;
      readonly number: number;
    }
  | { readonly page: "customer"; readonly application: string; readonly customer: string }
  | { readonly page: "import"; readonly application: string }
  | { readonly page: "sandbox"; readonly account: string }
  | { readonly page: "requests" };

export type RouteTo<Page extends Route["page"]> = Extract<Route, { readonly page: Page }>;

export const accountAddress = (application: string, account: string): string =>
  addressOf({ page: "account", application, account, number: 1 });

const encoded = (...parts: readonly string[]): string => `#/${parts.map(encodeURIComponent).join("/")}`;

export const addressOf = (route: Route): string => {
  switch (route.page) {
    case "applications":
      return "#/";
    case "application":
      return encoded("application", route.application);
    case "account":
      return encoded("account", route.application, route.account, String(route.number));
    case "customer":
      return encoded("customer", route.application, route.customer);
    case "import":
      return encoded("import", route.application);
    case "sandbox":
      return encoded("sandbox", route.account);
    case "requests":
      return encoded("requests");
  }
};

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

/** The page of an address; the list of applications where it names none. */
const routeOf = (hash: string): Route => {
  const [page, first = "", second = "", third = "1"] = hash.replace(/^#\//, "").split("/").map(decoded);
  switch (page) {
    case "application":
    case "import":
      return { page, application: first };
    case "account":
      return { page, application: first, account: second, number: Math.max(1, Number(third) || 1) };
    case "customer":
      return { page, application: first, customer: second };
    case "sandbox":
      return { page, account: first };
    case "requests":
      return { page };
    default:
      return { page: "applications" };
  }
};

export const go = (route: Route): void => {
  location.hash = addressOf(route);
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
