import type { Application } from "../../applications/application.ts";
import { manifestOf } from "./manifest-document.ts";

export interface ApplicationChange {
  readonly kind: "added" | "changed" | "removed";
  readonly subject: "application" | "destination" | "store" | "entitlement" | "product";
  /** Name of the part within its subject, such as `ios-store com.example.app`. */
  readonly name: string;
  /** The fields that differ: all of an added part, none of a removed one. */
  readonly fields: readonly { readonly field: string; readonly before: unknown; readonly after: unknown }[];
}

interface Part {
  readonly subject: ApplicationChange["subject"];
  readonly names: readonly string[];
  readonly fields: Readonly<Record<string, unknown>>;
}

/** @param naming the fields that name the part, after its store where it is one */
const partOf = (
  subject: Part["subject"],
  entry: Readonly<Record<string, unknown>>,
  naming: readonly string[],
  store: readonly string[] = [],
): Part => ({
  subject,
  names: [...store, ...naming.flatMap((field) => (entry[field] === undefined ? [] : String(entry[field])))],
  fields: Object.fromEntries(Object.entries(entry).filter(([field]) => !naming.includes(field))),
});

export const PRODUCT_NAME = ["store", "productIdentifier", "basePlanIdentifier", "purchaseOptionIdentifier"];

const partsOf = (of: Application): ReadonlyMap<string, Part> => {
  const { application, destinations, stores, entitlements, products } = manifestOf(of);
  const parts = [
    partOf("application", application, ["identifier"]),
    ...destinations.map((one) => partOf("destination", one, ["name"])),
    ...stores["ios-store"].map((one) => partOf("store", one, ["bundleIdentifier"], ["ios-store"])),
    ...stores["android-store"].map((one) => partOf("store", one, ["packageName"], ["android-store"])),
    ...Object.entries(entitlements).map(([name, one]) => partOf("entitlement", { name, ...one }, ["name"])),
    ...products.map((one) => partOf("product", one, PRODUCT_NAME)),
  ];
  return new Map(parts.map((part) => [JSON.stringify([part.subject, part.names]), part]));
};

const differingFields = (before: Part["fields"], after: Part["fields"]): ApplicationChange["fields"] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .map((field) => ({ field, before: before[field] ?? null, after: after[field] ?? null }))
    .filter((field) => JSON.stringify(field.before) !== JSON.stringify(field.after));

/** Changes that turn `before` (null: no application yet) into `after`, in whatever order their parts are. */
export const differenceOf = (
  before: Application | null,
  after: Application,
): readonly ApplicationChange[] => {
  const old = before === null ? new Map<string, Part>() : partsOf(before);
  const wanted = partsOf(after);
  const changeOf = (
    kind: ApplicationChange["kind"],
    { subject, names }: Part,
    fields: ApplicationChange["fields"],
  ): ApplicationChange => ({ kind, subject, name: names.join(" "), fields });
  const addedOrChanged = [...wanted].flatMap(([key, part]) => {
    const known = old.get(key);
    const fields = differingFields(known?.fields ?? {}, part.fields);
    if (known === undefined) return changeOf("added", part, fields);
    return fields.length === 0 ? [] : changeOf("changed", part, fields);
  });
  const removed = [...old].flatMap(([key, part]) => (wanted.has(key) ? [] : changeOf("removed", part, [])));
  return [...addedOrChanged, ...removed];
};

const SIGNS: Readonly<Record<ApplicationChange["kind"], string>> = { added: "+", changed: "~", removed: "-" };

export const changeHead = ({ kind, subject, name }: ApplicationChange): string =>
  `${SIGNS[kind]} ${subject} ${name}`;

const valueText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

export const changeText = (change: ApplicationChange): string => {
  const details = change.fields.map(({ field, before, after }) =>
    change.kind === "added"
      ? `${field} ${valueText(after)}`
      : `${field} ${valueText(before)} → ${valueText(after)}`,
  );
  return `${changeHead(change)}${details.length === 0 ? "" : `: ${details.join(", ")}`}`;
};
