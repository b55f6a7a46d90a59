import * as z from "zod";
import type { Application } from "../../applications/application.ts";
import { ANDROID_STORE_FIELDS, IOS_STORE_FIELDS, PRODUCT_FIELDS } from "../../applications/fields.ts";
import { catalogOf } from "../../entitlements/catalog.ts";
import type { ApplicationId } from "../../identifiers.ts";
import type { TrustsOrigin } from "../../stores/android-store/workload-identity.ts";
import { ALLOWS_NONE, type AllowsDestination } from "../../delivery/allowed-destinations.ts";
import { destinationName, manifestSchema, messageOf } from "./manifest-schema.ts";
import { shapeOf } from "./manifest-values.ts";
import { readYaml, type YamlPath } from "./manifest-yaml.ts";

/** An application as its operator describes it in one file; the identifier is optional. */
export interface Manifest extends Omit<Application, "identifier"> {
  readonly identifier: ApplicationId | null;
}

export interface ManifestProblem {
  /** Line of the YAML text, from 1: of the value, or of the node that lacks it. */
  readonly line: number;
  /** Such as `products[2].grants`; empty for the whole file. */
  readonly path: string;
  readonly message: string;
}

export type ManifestReading =
  | { readonly outcome: "valid"; readonly manifest: Manifest }
  | { readonly outcome: "invalid"; readonly problems: readonly ManifestProblem[] };

interface Problem {
  readonly path: YamlPath;
  readonly message: string;
}

const shapeProblems = (error: z.ZodError): Problem[] =>
  error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({ path: [...issue.path, key], message: issue.message }))
      : [{ path: issue.path, message: issue.message }],
  );

const member = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? Reflect.get(value, key)
    : undefined;

/** Entries of a list in which at least `part` is valid, with their paths. */
const readableEntries = <Part extends z.ZodType>(
  list: unknown,
  path: YamlPath,
  part: Part,
): { readonly path: YamlPath; readonly value: z.output<Part> }[] =>
  !Array.isArray(list)
    ? []
    : list.flatMap((entry: unknown, index) => {
        const read = part.safeParse(entry);
        return read.success ? [{ path: [...path, index], value: read.data }] : [];
      });

const repeated = <Value>(
  entries: readonly { readonly path: YamlPath; readonly value: Value }[],
  namesOf: (value: Value) => readonly unknown[],
): Problem[] =>
  [...Map.groupBy(entries, ({ value }) => JSON.stringify(namesOf(value))).values()].flatMap(([, ...others]) =>
    others.map(({ path, value }) => ({
      path,
      message: `describes ${namesOf(value).join(" ")} a second time`,
    })),
  );

/** Lists of which no two entries may have the same names: path, the fields of a name, and what a message calls it. */
const UNIQUE: readonly (readonly [path: readonly string[], names: z.ZodType<object>, ...kind: string[]])[] = [
  [
    ["stores", "ios-store"],
    z.object(shapeOf(IOS_STORE_FIELDS)).pick({ bundleIdentifier: true }),
    "ios-store",
  ],
  [
    ["stores", "android-store"],
    z.object(shapeOf(ANDROID_STORE_FIELDS)).pick({ packageName: true }),
    "android-store",
  ],
  [["products"], z.object(shapeOf(PRODUCT_FIELDS)).omit({ grants: true, accessDuration: true })],
  [["destinations"], z.object({ name: destinationName }), "destination"],
];

/** Problems between entries. Checked on the raw data, to be reported together with schema problems. */
const crossProblems = (data: unknown): Problem[] => {
  const entitlements = member(data, "entitlements");
  const defined = new Set(Object.keys(entitlements ?? {}));
  const products = member(data, "products");
  const undefinedGrants = readableEntries(
    products,
    ["products"],
    z.object({ grants: z.array(z.unknown()) }),
  ).flatMap(({ path, value }) =>
    value.grants.flatMap((grant, index) =>
      typeof grant === "string" && !defined.has(grant)
        ? [
            {
              path: [...path, "grants", index],
              message: `is ${JSON.stringify(grant)}, which is not among the entitlements`,
            },
          ]
        : [],
    ),
  );
  const duplicates = UNIQUE.flatMap(([path, names, ...kind]) =>
    repeated(readableEntries(path.reduce(member, data), path, names), (value) => [
      ...kind,
      ...Object.values(value).filter((part) => part !== undefined),
    ]),
  );
  return [...duplicates, ...undefinedGrants];
};

const pathText = (path: YamlPath): string =>
  path
    .map(String)
    .map((part, index) =>
      typeof path[index] === "number"
        ? `[${part}]`
        : /^[\w-]+$/.test(part)
          ? `${index === 0 ? "" : "."}${part}`
          : `[${JSON.stringify(part)}]`,
    )
    .join("");

const byLine = (a: ManifestProblem, b: ManifestProblem): number => a.line - b.line;

/**
 * Reads a manifest from YAML and reports all problems together. No message quotes a credential's value.
 *
 * @param trustsOrigin origins besides Google's from which a workload identity may request tokens; unset: none
 * @param allowsDestination webhooks that may have a private address or plain HTTP; unset: none
 */
export const readManifest = (
  text: string,
  trustsOrigin: TrustsOrigin = () => false,
  allowsDestination: AllowsDestination = ALLOWS_NONE,
): ManifestReading => {
  const yaml = readYaml(text);
  if (yaml.outcome === "malformed")
    return {
      outcome: "invalid",
      problems: yaml.problems.map((problem) => ({ ...problem, path: "" })).sort(byLine),
    };
  const read = manifestSchema(trustsOrigin, allowsDestination).safeParse(yaml.data, {
    error: messageOf,
  });
  const problems = [...(read.success ? [] : shapeProblems(read.error)), ...crossProblems(yaml.data)];
  if (!read.success || problems.length > 0)
    return {
      outcome: "invalid",
      problems: problems
        .map(({ path, message }) => ({ line: yaml.lineOf(path), path: pathText(path), message }))
        .sort(byLine),
    };
  const { application, destinations = [], stores = {}, entitlements = {}, products = [] } = read.data;
  const displayNames = Object.entries(entitlements).map(
    ([identifier, entitlement]) => [identifier, entitlement?.displayName ?? identifier] as const,
  );
  return {
    outcome: "valid",
    manifest: {
      ...application,
      iosStore: stores["ios-store"] ?? [],
      androidStore: stores["android-store"] ?? [],
      catalog: catalogOf(new Map(displayNames), products),
      destinations,
    },
  };
};

/** One line of text: `line 7: products[0].grants must not be empty`. */
export const problemText = ({ line, path, message }: ManifestProblem): string =>
  `line ${line}: ${path}${path === "" ? "" : " "}${message}`;
