import * as z from "zod";
import {
  TRANSFERS,
  type AndroidStoreConfiguration,
  type IosStoreConfiguration,
} from "../applications/application.ts";
import type { Destination } from "../applications/destination.ts";
import { ENVIRONMENTS, STORES, type Environment } from "../contract/schemas.ts";
import { DAY } from "../duration.ts";
import { parsePeriod, type Period } from "../entitlements/time.ts";
import { applicationId } from "../identifiers.ts";
import type { AllowsDestination } from "../delivery/allowed-destinations.ts";
import { checkDestinationUrl } from "../delivery/webhook/destination-url.ts";
import type { AndroidStoreCredential } from "../stores/android-store/credentials.ts";
import {
  readWorkloadIdentity,
  type TrustsOrigin,
  type WorkloadIdentity,
} from "../stores/android-store/workload-identity.ts";

const NAME_CHARACTERS = 256;
const DEFAULT_ENVIRONMENTS: readonly Environment[] = ["production", "sandbox"];
/** Keys that only a secret credential has. */
const SECRET_KEYS: ReadonlySet<string> = new Set(["private_key", "client_secret", "refresh_token"]);

const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Checks a rule on these fields even if others are invalid, so that all problems are reported together. */
const whenReadable =
  (...fields: readonly string[]) =>
  ({ value, issues }: z.core.ParsePayload): boolean =>
    isMapping(value) && !issues.some(({ path }) => fields.includes(String(path?.[0])));

const distinct = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .min(1)
    .refine((values) => new Set(values).size === values.length, { message: "must not contain duplicates" });

const name = z
  .string()
  .min(1, "must not be empty")
  .refine((value) => [...value].length <= NAME_CHARACTERS, {
    message: `must be at most ${NAME_CHARACTERS} characters`,
  })
  .refine((value) => value.isWellFormed() && !/\p{Cc}/u.test(value), {
    message: "must not contain control characters",
  });

/** A bundle identifier or package name, in the characters that stores allow. */
export const bundleOrPackage = name.regex(
  /^[A-Za-z0-9._-]*$/,
  "must be letters, digits, '.', '-' and '_' only",
);

const environments = <const Allowed extends readonly Environment[]>(allowed: Allowed) =>
  distinct(z.enum(allowed)).transform((given): readonly Environment[] =>
    ENVIRONMENTS.filter((environment) => (given as readonly Environment[]).includes(environment)),
  );

const certificate = z
  .string()
  .transform((text) => text.replaceAll(":", "").toLowerCase())
  .pipe(z.string().regex(/^[0-9a-f]{64}$/, "must be the SHA-256 of a certificate, 64 hexadecimal digits"));

/** PEM, service-account JSON, or the base64 of a `.p8` key without its first and last line (PKCS #8, elliptic curve). */
const SECRET_TEXT = /-----BEGIN |"private_key"|AgEAMBMGByqGSM49/;

const holdsSecret = (value: unknown): boolean => {
  if (typeof value === "string") return SECRET_TEXT.test(value);
  if (Array.isArray(value)) return value.some(holdsSecret);
  return (
    isMapping(value) &&
    Object.entries(value).some(
      ([key, inner]) => SECRET_KEYS.has(key) || holdsSecret(key) || holdsSecret(inner),
    )
  );
};

const secretName = z
  .string()
  .regex(
    /^(?:[A-Za-z0-9/_+=.@-]{1,512}|arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[A-Za-z0-9/_+=.@-]{1,512})$/,
    "must be the name or the ARN of a secret in Secrets Manager",
  );

const serverApi = z
  .unknown()
  .refine((value) => !holdsSecret(value), {
    message:
      "contains a secret, which does not belong in this file: store the text of the .p8 file in Secrets Manager and name it here as secret: <its name>",
    abort: true,
  })
  .pipe(
    z.strictObject({
      // Apple's issuer IDs have the form of a UUID, but not always a version and variant of RFC 9562.
      issuerIdentifier: z.guid("must be a UUID"),
      keyIdentifier: z
        .string()
        .regex(/^[A-Za-z0-9]{1,64}$/, "must be at most 64 letters and digits, such as ABC123DEFG"),
      secret: secretName,
    }),
  );

const iosStore = z
  .strictObject({
    bundleIdentifier: bundleOrPackage,
    appAppleIdentifier: z.int().positive("must be greater than 0").optional(),
    environments: environments(ENVIRONMENTS).optional(),
    xcodeCertificates: distinct(certificate)
      .transform((certificates) => [...certificates].sort())
      .optional(),
    serverApi: serverApi.optional(),
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
      !environments.includes("xcode") || xcodeCertificates !== undefined,
    {
      path: ["xcodeCertificates"],
      message: "is required where environments includes xcode",
      when: whenReadable("environments", "xcodeCertificates"),
    },
  )
  .refine(
    ({ environments = DEFAULT_ENVIRONMENTS, serverApi }) =>
      serverApi === undefined || environments.some((environment) => environment !== "xcode"),
    {
      path: ["serverApi"],
      message: "is not possible where only xcode is accepted: the App Store knows no purchase made in Xcode",
      when: whenReadable("environments", "serverApi"),
    },
  )
  .transform((store): IosStoreConfiguration => ({
    bundleIdentifier: store.bundleIdentifier,
    appAppleIdentifier: store.appAppleIdentifier ?? null,
    environments: store.environments ?? DEFAULT_ENVIRONMENTS,
    xcodeCertificates: store.xcodeCertificates ?? [],
    serverApi: store.serverApi ?? null,
  }));

const workloadIdentity = (trustsOrigin: TrustsOrigin) =>
  z.unknown().transform((value, context): WorkloadIdentity => {
    const reading = readWorkloadIdentity(value, trustsOrigin);
    if (reading.outcome === "valid") return reading.identity;
    for (const { path, message } of reading.problems)
      context.addIssue({ code: "custom", path: [...path], message });
    return z.NEVER;
  });

const androidCredential = (trustsOrigin: TrustsOrigin) =>
  z
    .unknown()
    .refine((value) => !holdsSecret(value), {
      message:
        "contains a secret, which does not belong in this file: store the service account's JSON in Secrets Manager and name it here as { secret: <its name> }",
      abort: true,
    })
    .pipe(
      z.strictObject({
        secret: secretName.optional(),
        workloadIdentity: workloadIdentity(trustsOrigin).optional(),
      }),
    )
    .transform(({ secret, workloadIdentity }, context): AndroidStoreCredential => {
      if (secret !== undefined && workloadIdentity === undefined) return { secret };
      if (secret === undefined && workloadIdentity !== undefined) return { workloadIdentity };
      context.addIssue({
        code: "custom",
        message: "must be either { secret: <name> } or { workloadIdentity: { … } }",
      });
      return z.NEVER;
    });

const AUDIENCE_CHARACTERS = 512;

const notifications = z.strictObject({
  // Google writes the addresses of service accounts in lower case.
  serviceAccount: name
    .regex(/^[^\s@]+@[^\s@]+$/, "must be an e-mail address")
    .transform((address) => address.toLowerCase()),
  audience: z
    .string()
    .min(1, "must not be empty")
    .refine((value) => [...value].length <= AUDIENCE_CHARACTERS, {
      message: `must be at most ${AUDIENCE_CHARACTERS} characters`,
    })
    .refine((value) => value.isWellFormed() && !/\p{Cc}/u.test(value), {
      message: "must not contain control characters",
    }),
});

const androidStore = (trustsOrigin: TrustsOrigin) =>
  z
    .strictObject({
      packageName: bundleOrPackage,
      credential: androidCredential(trustsOrigin),
      environments: environments(["production", "sandbox"]).optional(),
      notifications: notifications.optional(),
    })
    .transform((store): AndroidStoreConfiguration => ({
      packageName: store.packageName,
      credential: store.credential,
      environments: store.environments ?? DEFAULT_ENVIRONMENTS,
      notifications: store.notifications ?? null,
    }));

const period = z.string().transform((text, context): Period => {
  const read = parsePeriod(text);
  if (read !== null) return read;
  context.addIssue({
    code: "custom",
    message: "must be an ISO 8601 duration longer than zero, such as P1D",
  });
  return z.NEVER;
});

/** The name of a product; the catalog maps each name once. */
export const productName = z.object({
  store: z.enum(STORES),
  productIdentifier: name,
  basePlanIdentifier: name.optional(),
  purchaseOptionIdentifier: name.optional(),
});

const product = z
  .strictObject({ ...productName.shape, grants: distinct(name), accessDuration: period.optional() })
  .refine(({ store, basePlanIdentifier }) => store !== "ios-store" || basePlanIdentifier === undefined, {
    path: ["basePlanIdentifier"],
    message: "is for android-store only",
    when: whenReadable("store", "basePlanIdentifier"),
  })
  .refine(
    ({ store, purchaseOptionIdentifier }) => store !== "ios-store" || purchaseOptionIdentifier === undefined,
    {
      path: ["purchaseOptionIdentifier"],
      message: "is for android-store only",
      when: whenReadable("store", "purchaseOptionIdentifier"),
    },
  )
  .refine(
    ({ basePlanIdentifier, purchaseOptionIdentifier }) =>
      basePlanIdentifier === undefined || purchaseOptionIdentifier === undefined,
    {
      path: ["purchaseOptionIdentifier"],
      message:
        "must not be combined with basePlanIdentifier: base plans belong to subscriptions, purchase options to one-time products",
      when: whenReadable("basePlanIdentifier", "purchaseOptionIdentifier"),
    },
  )
  .refine(
    ({ basePlanIdentifier, accessDuration }) =>
      basePlanIdentifier === undefined || accessDuration === undefined,
    {
      path: ["accessDuration"],
      message: "must not be combined with basePlanIdentifier: a subscription has its own end",
      when: whenReadable("basePlanIdentifier", "accessDuration"),
    },
  )
  .transform((product) => ({
    store: product.store,
    productIdentifier: product.productIdentifier,
    basePlanIdentifier: product.basePlanIdentifier ?? null,
    purchaseOptionIdentifier: product.purchaseOptionIdentifier ?? null,
    grants: [...product.grants].sort(),
    accessDuration: product.accessDuration ?? null,
  }));

/** Zero in any ISO 8601 form; `parsePeriod` refuses it. */
const NO_TIME = /^P(?=\d|T\d)(?:0+[YMWD])*(?:T(?=\d)(?:0+[HMS])*)?$/;

const renewalLeeway = z.string().transform((text, context): number => {
  const read = NO_TIME.test(text) ? { months: 0, milliseconds: 0 } : parsePeriod(text);
  if (read !== null && read.months === 0 && read.milliseconds <= DAY) return read.milliseconds;
  context.addIssue({
    code: "custom",
    message: "must be an ISO 8601 duration from PT0S to P1D, such as PT15M",
  });
  return z.NEVER;
});

/** Used in table keys and as an argument of the command line. */
export const destinationName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, "must be at most 64 letters, digits, '-' and '_'");

const EVENT_BUS = /^arn:aws[a-z-]*:events:[a-z0-9-]+:\d{12}:event-bus\/[A-Za-z0-9/._-]{1,256}$/;

const destination = (allows: AllowsDestination) =>
  z
    .strictObject({
      name: destinationName,
      url: z.string().optional(),
      eventBus: z.string().regex(EVENT_BUS, "must be the ARN of an EventBridge event bus").optional(),
    })
    .transform(({ name, url, eventBus }, context): Destination => {
      if (url !== undefined && eventBus === undefined) {
        const refused = checkDestinationUrl(url, { isAnyAddressAllowed: allows(url) });
        if (refused === null) return { name, url, secretEpochs: [] };
        context.addIssue({ code: "custom", path: ["url"], message: `cannot be used: ${refused}` });
      } else if (url === undefined && eventBus !== undefined) return { name, eventBus };
      else context.addIssue({ code: "custom", message: "must have either a url or an eventBus" });
      return z.NEVER;
    });

/** Each change writes one delivery item per destination in its own transaction. */
const DESTINATIONS = 5;

const uuid = z.uuid("must be a UUID").transform((text) => applicationId(text.toLowerCase()));

/** Schema of a manifest; rules across its parts are checked by `readManifest`. */
export const manifestSchema = (trustsOrigin: TrustsOrigin, allowsDestination: AllowsDestination) =>
  z.strictObject({
    application: z.strictObject({
      identifier: uuid.optional(),
      name,
      transfers: z.enum(TRANSFERS).optional(),
      renewalLeeway: renewalLeeway.optional(),
      keepsChanges: z.boolean().optional(),
    }),
    destinations: z
      .array(destination(allowsDestination))
      .max(DESTINATIONS, `must be at most ${DESTINATIONS}`)
      .optional(),
    stores: z
      .strictObject({
        "ios-store": z.array(iosStore).optional(),
        "android-store": z.array(androidStore(trustsOrigin)).optional(),
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

/** Fields of the mapping that an issue is about. */
const fieldsOf = ({ inst }: z.core.$ZodRawIssue): readonly string[] =>
  inst instanceof z.ZodObject ? Object.keys(inst.shape) : [];

/** Message for an invalid value, phrased to follow its path. */
export const messageOf: z.core.$ZodErrorMap = (issue) => {
  if (issue.input === undefined) return "is required";
  switch (issue.code) {
    case "invalid_type":
      return `must be ${EXPECTED[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `must be ${issue.values.map(String).join(" or ")}`;
    case "unrecognized_keys":
      return `is not a known field: here can be ${fieldsOf(issue).join(", ")}`;
    case "invalid_key":
      return `is not a valid name: it ${issue.issues.map(({ message }) => message).join(", and it ")}`;
    case "too_small":
      return "must not be empty";
    case "too_big":
      return "must be smaller";
    default:
      return "must be plain JSON";
  }
};
