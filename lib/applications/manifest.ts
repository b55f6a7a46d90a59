import { LineCounter, isCollection, isMap, isScalar, isSeq, parseDocument, visit, type Document } from "yaml";
import * as z from "zod";
import { ENVIRONMENTS, STORES, type Environment, type Store } from "../contract/schemas.ts";
import { catalogOf, type Catalog } from "../entitlements/catalog.ts";
import { parsePeriod, type Period } from "../entitlements/time.ts";
import { applicationId, type ApplicationId } from "../identifiers.ts";
import type {
  AndroidStoreConfiguration,
  AndroidStoreCredential,
  Application,
  IosStoreConfiguration,
} from "./application.ts";

/** An application as its operator describes it in one file; its identifier may be left to the service. */
export interface Manifest extends Omit<Application, "identifier"> {
  readonly identifier: ApplicationId | null;
}

/** What is wrong with a manifest, and where: the message follows the path in a sentence. */
export interface ManifestProblem {
  /** Line of the YAML text, from 1: of the value, or of what lacks it. */
  readonly line: number;
  /** Such as `products[2].grants`; empty for the whole file. */
  readonly path: string;
  readonly message: string;
}

export type ManifestReading =
  | { readonly outcome: "valid"; readonly manifest: Manifest }
  | { readonly outcome: "invalid"; readonly problems: readonly ManifestProblem[] };

const NAME_CHARACTERS = 256;
const WORKLOAD_IDENTITY_BYTES = 16 * 1024;
const DEFAULT_ENVIRONMENTS: readonly Environment[] = ["production", "sandbox"];
/** What only a credential that is itself a secret holds. */
const SECRET_KEYS: ReadonlySet<string> = new Set(["private_key", "client_secret", "refresh_token"]);

type Path = readonly PropertyKey[];
type Mapping = Readonly<Record<string, unknown>>;

const isMapping = (value: unknown): value is Mapping =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const member = (value: unknown, key: string): unknown => (isMapping(value) ? value[key] : undefined);

/** A rule on some fields is asked even where others are wrong, so that all problems are told together. */
const whenReadable =
  (...fields: readonly string[]) =>
  ({ value, issues }: z.core.ParsePayload): boolean =>
    isMapping(value) && !issues.some(({ path }) => fields.includes(String(path?.[0])));

const distinct = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .min(1)
    .refine((values) => new Set(values).size === values.length, { message: "must not name anything twice" });

const name = z
  .string()
  .min(1, "must not be empty")
  .refine((value) => [...value].length <= NAME_CHARACTERS, {
    message: `must be at most ${NAME_CHARACTERS} characters`,
  })
  .refine((value) => value.isWellFormed() && !/\p{Cc}/u.test(value), {
    message: "must not contain control characters",
  });

const bundleOrPackage = name.regex(/^[A-Za-z0-9._-]*$/, "must be letters, digits, '.', '-' and '_' only");

const environments = <const Allowed extends readonly Environment[]>(allowed: Allowed) =>
  distinct(z.enum(allowed)).transform((given): readonly Environment[] =>
    ENVIRONMENTS.filter((environment) => (given as readonly Environment[]).includes(environment)),
  );

const certificate = z
  .string()
  .transform((text) => text.replaceAll(":", "").toLowerCase())
  .pipe(z.string().regex(/^[0-9a-f]{64}$/, "must be the SHA-256 of a certificate, 64 hexadecimal digits"));

const iosStore = z
  .strictObject({
    bundleIdentifier: bundleOrPackage,
    appAppleIdentifier: z.int().positive("must be greater than 0").optional(),
    environments: environments(ENVIRONMENTS).optional(),
    xcodeCertificates: distinct(certificate)
      .transform((certificates) => [...certificates].sort())
      .optional(),
  })
  .refine(
    ({ appAppleIdentifier, environments = DEFAULT_ENVIRONMENTS }) =>
      appAppleIdentifier !== undefined || !environments.includes("production"),
    {
      path: ["appAppleIdentifier"],
      message: "is required where production is accepted",
      when: whenReadable("appAppleIdentifier", "environments"),
    },
  )
  .refine(
    ({ environments = DEFAULT_ENVIRONMENTS, xcodeCertificates }) =>
      environments.includes("xcode") === (xcodeCertificates !== undefined),
    {
      path: ["xcodeCertificates"],
      message: "must be given where environments has xcode, and only there",
      when: whenReadable("environments", "xcodeCertificates"),
    },
  )
  .transform((store): IosStoreConfiguration => ({
    bundleIdentifier: store.bundleIdentifier,
    appAppleIdentifier: store.appAppleIdentifier ?? null,
    environments: store.environments ?? DEFAULT_ENVIRONMENTS,
    xcodeCertificates: store.xcodeCertificates ?? [],
  }));

const holdsSecret = (value: unknown): boolean => {
  if (typeof value === "string") return /-----BEGIN |"private_key"/.test(value);
  if (Array.isArray(value)) return value.some(holdsSecret);
  return (
    isMapping(value) &&
    Object.entries(value).some(([key, inner]) => SECRET_KEYS.has(key) || holdsSecret(inner))
  );
};

const secretName = z
  .string()
  .regex(
    /^(?:[A-Za-z0-9/_+=.@-]{1,512}|arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[A-Za-z0-9/_+=.@-]{1,512})$/,
    "must be the name or the ARN of a secret in Secrets Manager",
  );

const workloadIdentity = z
  .record(z.string(), z.json())
  .refine((identity) => identity["type"] === "external_account", {
    path: ["type"],
    message: 'must be "external_account"',
  })
  .refine((identity) => Buffer.byteLength(JSON.stringify(identity)) <= WORKLOAD_IDENTITY_BYTES, {
    message: `must be at most ${WORKLOAD_IDENTITY_BYTES} bytes of JSON`,
  });

const androidCredential = z
  .unknown()
  .refine((value) => !holdsSecret(value), {
    message:
      "holds a secret, which does not belong in this file: store the service account's JSON in Secrets Manager, and name it here as { secret: <its name> }",
    abort: true,
  })
  .pipe(z.strictObject({ secret: secretName.optional(), workloadIdentity: workloadIdentity.optional() }))
  .transform(({ secret, workloadIdentity }, context): AndroidStoreCredential => {
    if (secret !== undefined && workloadIdentity === undefined) return { secret };
    if (secret === undefined && workloadIdentity !== undefined) return { workloadIdentity };
    context.addIssue({
      code: "custom",
      message: "must be either { secret: <name> } or { workloadIdentity: { … } }",
    });
    return z.NEVER;
  });

const androidStore = z
  .strictObject({
    packageName: bundleOrPackage,
    credential: androidCredential,
    environments: environments(["production", "sandbox"]).optional(),
  })
  .transform((store): AndroidStoreConfiguration => ({
    packageName: store.packageName,
    credential: store.credential,
    environments: store.environments ?? DEFAULT_ENVIRONMENTS,
  }));

const period = z.string().transform((text, context): Period => {
  const read = parsePeriod(text);
  if (read !== null) return read;
  context.addIssue({
    code: "custom",
    message: "must be an ISO 8601 duration longer than nothing, such as P1D",
  });
  return z.NEVER;
});

/** What names a product: the catalog maps it once. */
const productNamed = z.object({
  store: z.enum(STORES),
  productIdentifier: name,
  basePlanIdentifier: name.optional(),
});

const product = z
  .strictObject({ ...productNamed.shape, grants: distinct(name), accessDuration: period.optional() })
  .refine(({ store, basePlanIdentifier }) => store !== "ios-store" || basePlanIdentifier === undefined, {
    path: ["basePlanIdentifier"],
    message: "is known to android-store only",
    when: whenReadable("store", "basePlanIdentifier"),
  })
  .refine(
    ({ basePlanIdentifier, accessDuration }) =>
      basePlanIdentifier === undefined || accessDuration === undefined,
    {
      path: ["accessDuration"],
      message: "must not stand beside a basePlanIdentifier: a subscription has an end of its own",
      when: whenReadable("basePlanIdentifier", "accessDuration"),
    },
  )
  .transform((product) => ({
    store: product.store,
    productIdentifier: product.productIdentifier,
    basePlanIdentifier: product.basePlanIdentifier ?? null,
    grants: [...product.grants].sort(),
    accessDuration: product.accessDuration ?? null,
  }));

const uuid = z.uuid("must be a UUID").transform((text) => applicationId(text.toLowerCase()));

const document = z.strictObject({
  application: z.strictObject({ identifier: uuid.optional(), name }),
  stores: z
    .strictObject({
      "ios-store": z.array(iosStore).optional(),
      "android-store": z.array(androidStore).optional(),
    })
    .optional(),
  entitlements: z.record(name, z.strictObject({ displayName: name.optional() }).nullable()).optional(),
  products: z.array(product).optional(),
});

const EXPECTED: Readonly<Record<string, string>> = {
  string: "text (in quotes where it looks like a number)",
  number: "a whole number",
  int: "a whole number",
  array: "a list",
  object: "a mapping",
  record: "a mapping",
};

const messageOf: z.core.$ZodErrorMap = (issue) => {
  if (issue.input === undefined) return "is required";
  switch (issue.code) {
    case "invalid_type":
      return `must be ${EXPECTED[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `must be ${issue.values.map(String).join(" or ")}`;
    case "invalid_key":
      return `is no name: it ${issue.issues.map(({ message }) => message).join(", and it ")}`;
    case "too_small":
      return "must not be empty";
    case "too_big":
      return "must be smaller";
    default:
      return "must be plain JSON";
  }
};

interface Problem {
  readonly path: Path;
  readonly message: string;
}

const shapeProblems = (error: z.ZodError): Problem[] =>
  error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({ path: [...issue.path, key], message: "is not known here" }))
      : [{ path: issue.path, message: issue.message }],
  );

/** The entries of a list of which at least the named part can be read, with their paths. */
const readableEntries = <Part extends z.ZodType>(
  list: unknown,
  path: Path,
  part: Part,
): { readonly path: Path; readonly value: z.output<Part> }[] =>
  !Array.isArray(list)
    ? []
    : list.flatMap((entry: unknown, index) => {
        const read = part.safeParse(entry);
        return read.success ? [{ path: [...path, index], value: read.data }] : [];
      });

const repeated = <Value>(
  entries: readonly { readonly path: Path; readonly value: Value }[],
  namesOf: (value: Value) => readonly unknown[],
): Problem[] =>
  [...Map.groupBy(entries, ({ value }) => JSON.stringify(namesOf(value))).values()].flatMap(([, ...others]) =>
    others.map(({ path, value }) => ({
      path,
      message: `describes ${namesOf(value).join(" ")} a second time`,
    })),
  );

/** What one entry cannot know of the others. Asked of the raw data, so that it is told beside what is wrong in shape. */
const crossProblems = (data: unknown): Problem[] => {
  const entitlements = member(data, "entitlements");
  const defined = new Set(isMapping(entitlements) ? Object.keys(entitlements) : []);
  const stores = member(data, "stores");
  const storeNames = ([store, field]: [Store, string]) =>
    repeated(
      readableEntries(member(stores, store), ["stores", store], z.object({ [field]: bundleOrPackage })),
      (entry) => [store, entry[field]],
    );
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
  return [
    ...storeNames(["ios-store", "bundleIdentifier"]),
    ...storeNames(["android-store", "packageName"]),
    ...repeated(
      readableEntries(products, ["products"], productNamed),
      ({ store, productIdentifier, basePlanIdentifier }) => [
        store,
        productIdentifier,
        ...(basePlanIdentifier === undefined ? [] : [basePlanIdentifier]),
      ],
    ),
    ...undefinedGrants,
  ];
};

const pathText = (path: Path): string =>
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

/** Where the path leads in the text, or the nearest to it that is there: a required field that is missing has no line. */
const offsetOf = (yaml: Document.Parsed, path: Path): number => {
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

/** What YAML allows and a manifest does not need: it would be read as something else than it looks. */
const unusualNodes = (yaml: Document.Parsed): { readonly offset: number; readonly message: string }[] => {
  const found: { offset: number; message: string }[] = [];
  visit(yaml, {
    Alias: (_, node) =>
      void found.push({ offset: node.range?.[0] ?? 0, message: "An alias is not supported: write it out." }),
    Pair: (_, { key }) => {
      if (isScalar(key) && key.value !== "__proto__" && key.value !== null) return;
      const offset = isScalar(key) || isCollection(key) ? (key.range?.[0] ?? 0) : 0;
      found.push({ offset, message: "A key must be plain text." });
    },
  });
  return found;
};

const byLine = (a: ManifestProblem, b: ManifestProblem): number => a.line - b.line;

/**
 * Reads a manifest from its YAML text. Everything is checked, and all that is wrong is told together; no message
 * repeats a value of a credential.
 */
export const readManifest = (text: string): ManifestReading => {
  const lines = new LineCounter();
  const yaml = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number): number => Math.max(1, lines.linePos(offset).line);
  const notYaml = [
    ...[...yaml.errors, ...yaml.warnings].map(({ pos, message }) => ({ offset: pos[0], message })),
    ...unusualNodes(yaml),
  ];
  if (notYaml.length > 0) {
    const problems = notYaml.map(({ offset, message }) => ({ line: lineAt(offset), path: "", message }));
    return { outcome: "invalid", problems: problems.sort(byLine) };
  }
  const data: unknown = yaml.toJS();
  const read = document.safeParse(data, { error: messageOf });
  const problems = [...(read.success ? [] : shapeProblems(read.error)), ...crossProblems(data)];
  if (!read.success || problems.length > 0) {
    const placed = problems.map(({ path, message }) => ({
      line: lineAt(offsetOf(yaml, path)),
      path: pathText(path),
      message,
    }));
    return { outcome: "invalid", problems: placed.sort(byLine) };
  }
  const { application, stores = {}, entitlements = {}, products = [] } = read.data;
  const displayNames = Object.entries(entitlements).map(
    ([identifier, entitlement]) => [identifier, entitlement?.displayName ?? identifier] as const,
  );
  return {
    outcome: "valid",
    manifest: {
      identifier: application.identifier ?? null,
      name: application.name,
      iosStore: stores["ios-store"] ?? [],
      androidStore: stores["android-store"] ?? [],
      catalog: catalogOf(new Map(displayNames), products),
    },
  };
};

/** One line for a person: `line 7: products[0].grants must not be empty`. */
export const problemText = ({ line, path, message }: ManifestProblem): string =>
  `line ${line}: ${path}${path === "" ? "" : " "}${message}`;

/** A manifest as data: what reading it again gives the same application from. */
export interface ManifestDocument {
  readonly application: { readonly identifier: ApplicationId; readonly name: string };
  readonly stores: {
    readonly "ios-store": readonly {
      readonly bundleIdentifier: string;
      readonly appAppleIdentifier?: number;
      readonly environments: readonly Environment[];
      readonly xcodeCertificates?: readonly string[];
    }[];
    readonly "android-store": readonly AndroidStoreConfiguration[];
  };
  readonly entitlements: Readonly<Record<string, { readonly displayName: string }>>;
  readonly products: readonly {
    readonly store: Store;
    readonly productIdentifier: string;
    readonly basePlanIdentifier?: string;
    readonly grants: readonly string[];
    readonly accessDuration?: string;
  }[];
}

const UNITS = [
  ["D", 86_400_000],
  ["H", 3_600_000],
  ["M", 60_000],
  ["S", 1000],
] as const;

/** The period as an ISO 8601 duration: `P1Y`, `P7D`, `PT36H` as `P1DT12H`. */
export const periodText = ({ months, milliseconds }: Period): string => {
  const date = months === 0 ? "" : months % 12 === 0 ? `${months / 12}Y` : `${months}M`;
  let rest = milliseconds;
  const [days = "", ...time] = UNITS.map(([letter, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count === 0 ? "" : `${count}${letter}`;
  });
  return `P${date}${days}${time.some(Boolean) ? `T${time.join("")}` : ""}`;
};

const productsOf = ({ products }: Catalog): ManifestDocument["products"] =>
  products.map(({ store, productIdentifier, basePlanIdentifier, grants, accessDuration }) => ({
    store,
    productIdentifier,
    ...(basePlanIdentifier !== null && { basePlanIdentifier }),
    grants,
    ...(accessDuration !== null && { accessDuration: periodText(accessDuration) }),
  }));

/** Describes an application as the manifest that makes it so. */
export const manifestOf = ({
  identifier,
  name,
  iosStore,
  androidStore,
  catalog,
}: Application): ManifestDocument => ({
  application: { identifier, name },
  stores: {
    "ios-store": iosStore.map(
      ({ bundleIdentifier, appAppleIdentifier, environments, xcodeCertificates }) => ({
        bundleIdentifier,
        ...(appAppleIdentifier !== null && { appAppleIdentifier }),
        environments,
        ...(xcodeCertificates.length > 0 && { xcodeCertificates }),
      }),
    ),
    "android-store": androidStore,
  },
  entitlements: Object.fromEntries(
    [...catalog.displayNames].map(([identifier, displayName]) => [identifier, { displayName }]),
  ),
  products: productsOf(catalog),
});
