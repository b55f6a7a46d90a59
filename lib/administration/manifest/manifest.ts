import { type Document, isCollection, isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from "yaml";
import type * as z from "zod";
import type { Application } from "../../applications/application.ts";
import { catalogOf } from "../../entitlements/catalog.ts";
import type { ApplicationId } from "../../identifiers.ts";
import { PRODUCT_NAME } from "./difference.ts";
import { manifestSchema, messageOf } from "./manifest-schema.ts";
import { isMapping, type ManifestTrust, TRUSTS_NOTHING } from "./manifest-values.ts";

type YamlPath = readonly PropertyKey[];

export interface ManifestProblem {
  /** Line of the YAML text, from 1: of the value, or of the node that lacks it. */
  readonly line: number;
  /** Such as `products[2].grants`; empty for the whole file. */
  readonly path: string;
  readonly message: string;
}

/** An application as its operator describes it in one file; the identifier is optional. */
export interface Manifest extends Omit<Application, "identifier"> {
  readonly identifier: ApplicationId | null;
}

const offsetOf = (yaml: Document.Parsed, path: YamlPath): number => {
  let node: unknown = yaml.contents;
  let offset = yaml.contents?.range[0] ?? 0;
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
      if (pair === undefined) break;
      if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(part)];
      if (isCollection(node) || isScalar(node)) offset = node.range?.[0] ?? offset;
    } else break;
  }
  return offset;
};

/** After a colon the parser quotes its input, which may be part of a pasted secret. */
const withoutSource = (message: string): string => message.split(": ", 1)[0] ?? "";

/** YAML features that a manifest does not need and that are easily misread. */
const unusualNodes = (yaml: Document.Parsed): { readonly offset: number; readonly message: string }[] => {
  const found: { offset: number; message: string }[] = [];
  visit(yaml, {
    Alias: (_, node) =>
      void found.push({
        offset: node.range?.[0] ?? 0,
        message: "An alias is not supported: write the value out.",
      }),
    Pair: (_, { key }) => {
      if (isScalar(key) && key.value !== "__proto__" && key.value !== null) return;
      const offset = isScalar(key) || isCollection(key) ? (key.range?.[0] ?? 0) : 0;
      found.push({ offset, message: "A key must be plain text." });
    },
  });
  return found;
};

/** No message quotes the text. */
const readYaml = (text: string) => {
  const lines = new LineCounter();
  const yaml = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number): number => Math.max(1, lines.linePos(offset).line);
  const malformed = [
    ...[...yaml.errors, ...yaml.warnings].map(({ pos: [offset], message }) => ({
      offset,
      message: withoutSource(message),
    })),
    ...unusualNodes(yaml),
  ];
  return {
    problems: malformed.map(({ offset, message }) => ({ line: lineAt(offset), path: "", message })),
    dataOf: (): unknown => yaml.toJS(),
    /** Line, from 1, of the node at the path, or of its nearest existing ancestor. */
    lineOf: (path: YamlPath): number => lineAt(offsetOf(yaml, path)),
  };
};

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
  isMapping(value) && Object.hasOwn(value, key) ? value[key] : undefined;

const entriesOf = (data: unknown, path: readonly string[]) => {
  const list = path.reduce(member, data);
  return (Array.isArray(list) ? list : []).flatMap((entry: unknown, index) =>
    isMapping(entry) ? [{ path: [...path, index], entry }] : [],
  );
};

/** Lists of which no two entries may have the same names; an entry without its key has none. */
const UNIQUE = [
  {
    path: ["stores", "ios-store"],
    key: "bundleIdentifier",
    names: ["bundleIdentifier"],
    kind: ["ios-store"],
  },
  { path: ["stores", "android-store"], key: "packageName", names: ["packageName"], kind: ["android-store"] },
  { path: ["products"], key: "productIdentifier", names: PRODUCT_NAME, kind: [] },
  { path: ["destinations"], key: "name", names: ["name"], kind: ["destination"] },
];

const duplicatesIn = (data: unknown): Problem[] =>
  UNIQUE.flatMap(({ path, key, names: fields, kind }) => {
    const named = entriesOf(data, path)
      .filter(({ entry }) => typeof entry[key] === "string")
      .map(({ path, entry }) => ({
        path,
        names: fields.map((field) => entry[field]).filter((name) => name !== undefined),
      }));
    return [...Map.groupBy(named, ({ names }) => JSON.stringify(names)).values()].flatMap(([, ...others]) =>
      others.map(({ path, names }) => ({
        path,
        message: `describes ${[...kind, ...names].join(" ")} a second time`,
      })),
    );
  });

const undefinedGrantsIn = (data: unknown): Problem[] => {
  const defined = Object.keys(member(data, "entitlements") ?? {});
  return entriesOf(data, ["products"]).flatMap(({ path, entry: { grants } }) =>
    (Array.isArray(grants) ? grants : []).flatMap((grant: unknown, index) => {
      if (typeof grant !== "string" || defined.includes(grant)) return [];
      const message = `is ${JSON.stringify(grant)}, which is not among the entitlements`;
      return [{ path: [...path, "grants", index], message }];
    }),
  );
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

const invalid = (problems: readonly ManifestProblem[]) => ({
  outcome: "invalid" as const,
  problems: problems.toSorted((a, b) => a.line - b.line),
});

/** Reads a manifest from YAML and reports all problems together. No message quotes a credential's value. */
export const readManifest = (
  text: string,
  trust: Partial<ManifestTrust> = {},
): { readonly outcome: "valid"; readonly manifest: Manifest } | ReturnType<typeof invalid> => {
  const yaml = readYaml(text);
  if (yaml.problems.length > 0) return invalid(yaml.problems);
  const data = yaml.dataOf();
  const schema = manifestSchema({ ...TRUSTS_NOTHING, ...trust });
  const read = schema.safeParse(data, { error: messageOf });
  // Those between parts are found in the raw data, to be reported together with those of the schema.
  const problems = [
    ...(read.success ? [] : shapeProblems(read.error)),
    ...duplicatesIn(data),
    ...undefinedGrantsIn(data),
  ];
  if (!read.success || problems.length > 0)
    return invalid(
      problems.map(({ path, message }) => ({ line: yaml.lineOf(path), path: pathText(path), message })),
    );
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
