import { type Application, isWebhook } from "../../applications/application.ts";
import {
  ANDROID_STORE_FIELDS,
  APPLICATION_FIELDS,
  type Field,
  type Fields,
  type Given,
  IOS_STORE_FIELDS,
  isDefault,
  PRODUCT_FIELDS,
  type Values,
} from "../../applications/fields.ts";
import type { Catalog, CatalogProduct } from "../../entitlements/catalog.ts";
import { type Instant, type Period, plusPeriod } from "../../entitlements/time.ts";
import { durationText, periodText } from "./manifest-values.ts";

/** Fields as a manifest shows them: without defaults, and with times as texts. */
type Shown<Named extends Fields> = {
  readonly [Name in keyof Given<Named>]: Name extends "renewalLeeway" | "accessDuration"
    ? string
    : Given<Named>[Name];
};

const shownValue = ({ kind }: Field, value: unknown): unknown => {
  if (kind === "duration") return durationText(value as number);
  return kind === "period" ? periodText(value as Period) : value;
};

const shown = <Named extends Fields>(fields: Named, values: Values<Named>): Shown<Named> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      const value: unknown = values[name];
      return field.isAlwaysShown !== true && isDefault(field, value)
        ? []
        : [[name, shownValue(field, value)]];
    }),
  ) as Shown<Named>;

/** A manifest as data. Reading it gives the same application again. */
export const manifestOf = ({
  identifier,
  destinations,
  iosStore,
  androidStore,
  catalog,
  ...settings
}: Application) => ({
  application: { identifier, ...shown(APPLICATION_FIELDS, settings) },
  destinations: destinations.map((one) =>
    isWebhook(one) ? { name: one.name, url: one.url } : { name: one.name, eventBus: one.eventBus },
  ),
  stores: {
    "ios-store": iosStore.map((store) => shown(IOS_STORE_FIELDS, store)),
    "android-store": androidStore.map((store) => shown(ANDROID_STORE_FIELDS, store)),
  },
  entitlements: Object.fromEntries(
    [...catalog.displayNames].map(([name, displayName]) => [name, { displayName }]),
  ),
  products: catalog.products.map((product) => shown(PRODUCT_FIELDS, product)),
});

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

export const PRODUCT_NAME = [
  "store",
  "productIdentifier",
  "basePlanIdentifier",
  "purchaseOptionIdentifier",
] as const;

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

/** Changes that turn `before` (null: no application yet) into `after`. The order of parts is no difference. */
export const differenceOf = (
  before: Application | null,
  after: Application,
): readonly ApplicationChange[] => {
  const old = before === null ? new Map<string, Part>() : partsOf(before);
  const wanted = partsOf(after);
  return [...new Map([...wanted, ...old])].flatMap(([key, { subject, names }]): ApplicationChange[] => {
    const [known, now] = [old.get(key), wanted.get(key)];
    const fields = now === undefined ? [] : differingFields(known?.fields ?? {}, now.fields);
    if (known !== undefined && now !== undefined && fields.length === 0) return [];
    const kind = known === undefined ? "added" : now === undefined ? "removed" : "changed";
    return [{ kind, subject, name: names.join(" "), fields }];
  });
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

/** First and last days of the months of four years: the shortest and the longest periods start there. */
const STARTS: readonly Instant[] = [2025, 2026, 2027, 2028].flatMap((year) =>
  Array.from({ length: 12 }, (_, month) => [Date.UTC(year, month, 1), Date.UTC(year, month + 1, 0)]).flat(),
);

/** Whether access that begins on some day would end earlier: `P1M` may be less than `P30D`. `before` null never ends. */
const isShorter = (period: Period, before: Period | null): boolean =>
  before === null || STARTS.some((start) => plusPeriod(start, period) < plusPeriod(start, before));

const without = <T>(values: readonly T[], kept: readonly T[]): readonly T[] =>
  values.filter((value) => !kept.includes(value));

const productName = (product: CatalogProduct): string =>
  PRODUCT_NAME.flatMap((field) => product[field] ?? []).join(" ");

/** A product with a base plan or purchase option takes precedence over the one without, so adding it can grant less. */
const productLosses = (before: Catalog, after: Catalog): string[] => {
  const named = new Map([...before.products, ...after.products].map((one) => [productName(one), one]));
  return [...named].flatMap(([name, product]) => {
    const old = before.productOf(product.store, product);
    const now = after.productOf(product.store, product);
    if (old === undefined) return [];
    if (now === undefined) return [`product ${name} grants nothing any more`];
    const lost = without(old.grants, now.grants);
    const shorter = now.accessDuration !== null && isShorter(now.accessDuration, old.accessDuration);
    // Without an access duration, access never ends, but a rental grants nothing.
    const unrented =
      product.store === "android-store" && old.accessDuration !== null && now.accessDuration === null;
    return [
      ...(lost.length === 0 ? [] : [`product ${name} does not grant ${lost.join(", ")} any more`]),
      ...(shorter ? [`product ${name} gives access for ${periodText(now.accessDuration)} only`] : []),
      ...(unrented ? [`rentals of product ${name} grant nothing any more`] : []),
    ];
  });
};

/** Each bundle and package, with what it accepts. */
const acceptedBy = ({ iosStore, androidStore }: Application): ReadonlyMap<string, readonly string[]> => {
  const accepted = new Map<string, readonly string[]>();
  for (const { bundleIdentifier, environments, xcodeCertificates } of iosStore) {
    const certificates = xcodeCertificates.map((certificate) => `certificate ${certificate}`);
    accepted.set(`ios-store ${bundleIdentifier}`, [...environments, ...certificates]);
  }
  for (const { packageName, environments } of androidStore)
    accepted.set(`android-store ${packageName}`, environments);
  return accepted;
};

const storeLosses = (before: Application, after: Application): string[] => {
  const now = acceptedBy(after);
  return [...acceptedBy(before)].flatMap(([name, accepts]) => {
    const kept = now.get(name);
    if (kept === undefined) return [`purchases of ${name} are refused`];
    const lost = without(accepts, kept);
    return lost.length === 0 ? [] : [`purchases of ${name} from ${lost.join(", ")} are refused`];
  });
};

/** Access that customers can lose when `after` replaces `before`, in words. */
export const lostAccess = (before: Application, after: Application): readonly string[] => {
  const [leeway, previous] = [after.renewalLeeway, before.renewalLeeway];
  const late = `a subscription that renews late keeps its access for ${durationText(leeway)} only, not for ${durationText(previous)}`;
  return [
    ...storeLosses(before, after),
    ...(leeway < previous ? [late] : []),
    ...productLosses(before.catalog, after.catalog),
  ];
};
