import * as z from "zod";
import type { Field, Fields, ValueOf, IosStoreNotifications } from "../../applications/fields.ts";
import { ALLOWS_NONE, checkDestinationUrl, type AllowsDestination } from "../../delivery/addresses.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../duration.ts";
import { parsePeriod, type Period } from "../../entitlements/time.ts";
import type { AndroidStoreCredential } from "../../stores/android-store/publisher.ts";
import {
  readWorkloadIdentity,
  type TrustsOrigin,
  type WorkloadIdentity,
} from "../../stores/android-store/workload-identity.ts";

const UNITS = [
  ["D", DAY],
  ["H", HOUR],
  ["M", MINUTE],
  ["S", SECOND],
] as const;

/** An ISO 8601 duration: `P1Y`, `P7D`, `PT36H` as `P1DT12H`. */
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

/** An ISO 8601 duration: `PT15M`, `PT0S`. */
export const durationText = (milliseconds: number): string =>
  milliseconds === 0 ? "PT0S" : periodText({ months: 0, milliseconds });

/** Keys that only a secret credential has. */
const SECRET_KEYS: ReadonlySet<string> = new Set(["private_key", "client_secret", "refresh_token"]);

export const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const distinct = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .min(1)
    .refine((values) => new Set(values).size === values.length, { message: "must not contain duplicates" });

const text = (longest: number) =>
  z
    .string()
    .min(1, "must not be empty")
    .refine((value) => [...value].length <= longest, { message: `must be at most ${longest} characters` })
    .refine((value) => value.isWellFormed() && !/\p{Cc}/u.test(value), {
      message: "must not contain control characters",
    });

export const name = text(256);

/** The one of two values that is given; both, or neither, are refused. */
export const either = <One, Other>(
  one: One | undefined,
  other: Other | undefined,
  context: z.RefinementCtx,
  message: string,
): One | Other => {
  const [given, more] = [one, other].filter((value) => value !== undefined);
  if (given !== undefined && more === undefined) return given;
  context.addIssue({ code: "custom", message });
  return z.NEVER;
};

/** A bundle identifier or package name, in the characters that stores allow. */
const bundleOrPackage = name.regex(/^[A-Za-z0-9._-]*$/, "must be letters, digits, '.', '-' and '_' only");

const choices = (of: readonly string[]) =>
  distinct(z.enum(of)).transform((given) => of.filter((choice) => given.includes(choice)));

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

/** @param instead what to write in place of a secret */
const withoutSecret = <Schema extends z.ZodType>(schema: Schema, instead: string) =>
  z
    .unknown()
    .refine((value) => !holdsSecret(value), {
      message: `contains a secret, which does not belong in this file: ${instead}`,
      abort: true,
    })
    .pipe(schema);

const serverApi = withoutSecret(
  z.strictObject({
    // Apple's issuer IDs have the form of a UUID, but not always a version and variant of RFC 9562.
    issuerIdentifier: z.guid("must be a UUID"),
    keyIdentifier: z
      .string()
      .regex(/^[A-Za-z0-9]{1,64}$/, "must be at most 64 letters and digits, such as ABC123DEFG"),
    secret: secretName,
  }),
  "store the text of the .p8 file in Secrets Manager and name it here as secret: <its name>",
);

/** Addresses that a manifest may name besides the stores' and public ones, for a run on one machine. */
export interface ManifestTrust {
  /** Origins besides Google's from which a workload identity may request tokens. */
  readonly trustsOrigin: TrustsOrigin;
  /** Webhooks that may have a private address or plain HTTP. */
  readonly allowsDestination: AllowsDestination;
}

export const TRUSTS_NOTHING: ManifestTrust = { trustsOrigin: () => false, allowsDestination: ALLOWS_NONE };

export const destinationUrl = ({ allowsDestination }: ManifestTrust) =>
  z.string().superRefine((url, context) => {
    const refused = checkDestinationUrl(url, allowsDestination);
    if (refused !== null) context.addIssue({ code: "custom", message: `cannot be used: ${refused}` });
  });

const iosNotifications = (trust: ManifestTrust) =>
  z
    .strictObject({ forwardedBy: z.literal(true).optional(), forwardTo: destinationUrl(trust).optional() })
    .transform(({ forwardedBy, forwardTo }, context): IosStoreNotifications =>
      either(
        forwardedBy && { forwardedBy },
        forwardTo === undefined ? undefined : { forwardTo },
        context,
        "must be either { forwardedBy: true } or { forwardTo: <URL> }",
      ),
    );

const workloadIdentity = ({ trustsOrigin }: ManifestTrust) =>
  z.unknown().transform((value, context): WorkloadIdentity => {
    const reading = readWorkloadIdentity(value, trustsOrigin);
    if (reading.outcome === "valid") return reading.identity;
    for (const { path, message } of reading.problems)
      context.addIssue({ code: "custom", path: [...path], message });
    return z.NEVER;
  });

const androidCredential = (trust: ManifestTrust) =>
  withoutSecret(
    z.strictObject({
      secret: secretName.optional(),
      workloadIdentity: workloadIdentity(trust).optional(),
    }),
    "store the service account's JSON in Secrets Manager and name it here as { secret: <its name> }",
  ).transform(({ secret, workloadIdentity }, context): AndroidStoreCredential =>
    either(
      secret === undefined ? undefined : { secret },
      workloadIdentity && { workloadIdentity },
      context,
      "must be either { secret: <name> } or { workloadIdentity: { … } }",
    ),
  );

const notifications = z.strictObject({
  // Google writes the addresses of service accounts in lower case.
  serviceAccount: name
    .regex(/^[^\s@]+@[^\s@]+$/, "must be an e-mail address")
    .transform((address) => address.toLowerCase()),
  audience: text(512),
});

/** A text as `read` understands it; null: it does not. */
const readAs = <Value>(read: (text: string) => Value | null, message: string) =>
  z.string().transform((text, context): Value => {
    const value = read(text);
    if (value !== null) return value;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });

/** Zero in any ISO 8601 form; `parsePeriod` refuses it. */
const NO_TIME = /^P(?=\d|T\d)(?:0+[YMWD])*(?:T(?=\d)(?:0+[HMS])*)?$/;

/** @param example of a duration that is allowed, for the message */
const duration = (longest: number, example: number) =>
  readAs(
    (text) => {
      const read = NO_TIME.test(text) ? { months: 0, milliseconds: 0 } : parsePeriod(text);
      return read !== null && read.months === 0 && read.milliseconds <= longest ? read.milliseconds : null;
    },
    `must be an ISO 8601 duration from PT0S to ${durationText(longest)}, such as ${durationText(example)}`,
  );

const schemaOf = (field: Field, trust: ManifestTrust): z.ZodType => {
  switch (field.kind) {
    case "name":
      return name;
    case "names":
      return distinct(name).transform((names) => [...names].sort());
    case "bundleOrPackage":
      return bundleOrPackage;
    case "positiveInteger":
      return z.int().positive("must be greater than 0");
    case "flag":
      return z.boolean();
    case "choice":
      return z.enum(field.of);
    case "choices":
      return choices(field.of);
    case "duration":
      return duration(field.longest, field.default ?? field.longest);
    case "period":
      return readAs(parsePeriod, "must be an ISO 8601 duration longer than zero, such as P1D");
    case "certificates":
      return distinct(certificate).transform((certificates) => [...certificates].sort());
    case "appStoreServerKey":
      return serverApi;
    case "iosStoreNotifications":
      return iosNotifications(trust);
    case "androidStoreCredential":
      return androidCredential(trust);
    case "androidStoreNotifications":
      return notifications;
  }
};

type Shape<Named extends Fields> = {
  readonly [Name in keyof Named]: Named[Name] extends { default: unknown }
    ? z.ZodOptional<z.ZodType<ValueOf<Named[Name]>>>
    : z.ZodType<ValueOf<Named[Name]>>;
};

/** Schemas of the fields as a manifest writes them, for `z.strictObject`. */
export const shapeOf = <Named extends Fields>(
  fields: Named,
  trust: ManifestTrust = TRUSTS_NOTHING,
): Shape<Named> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const schema = schemaOf(field, trust);
      return [name, field.default === undefined ? schema : schema.optional()];
    }),
  ) as Shape<Named>;
