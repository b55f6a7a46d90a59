import * as z from "zod";

/** Retention periods that CloudWatch Logs accepts, in days. */
const RETENTIONS = [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 3653];

// Values from the command line are strings.
export const whole = (minimum: number, maximum: number): z.ZodType<number> =>
  z
    .union([z.number(), z.string().regex(/^\d+$/).transform(Number)])
    .refine((value) => Number.isInteger(value) && value >= minimum && value <= maximum)
    .meta({ expected: `a whole number from ${minimum} to ${maximum}` });

export const flag: z.ZodType<boolean> = z
  .union([z.boolean(), z.enum(["true", "false"]).transform((value) => value === "true")])
  .meta({ expected: "true or false" });

export const oneOf = <const Value extends string>(...values: readonly Value[]): z.ZodType<Value> =>
  z.enum(values).meta({ expected: values.join(" or ") });

const text = (pattern: RegExp, expected: string): z.ZodType<string> =>
  z.string().regex(pattern).meta({ expected });

export const retention = whole(1, 3653)
  .refine((days) => RETENTIONS.includes(days))
  .meta({ expected: `one of ${RETENTIONS.join(", ")}` });

/** `none` clears a default. */
export const orNone = <Value>(value: z.ZodType<Value>): z.ZodType<Value | null> =>
  z
    .union([z.literal(["none", null]).transform(() => null), value])
    .meta({ expected: `${String(value.meta()?.["expected"])}, or none` });

export const stageName = text(/^[a-z][a-z0-9-]{0,15}$/, "1 to 16 lower-case letters, digits and hyphens");
export const tableName = text(/^[\w.-]{3,255}$/, "the name of a DynamoDB table");
/** Ends with a slash, without which it might begin other secrets' names, as the master secret's. */
export const prefix = text(
  /^[\w/+=.@-]{1,199}\/$/,
  "the beginning of a secret's name, with a slash at its end",
);
export const domainName = text(/^(?:[a-z0-9-]+\.)+[a-z]{2,}$/, "a domain name in lower case");
export const certificate = text(
  /^arn:aws[\w-]*:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/,
  "the ARN of a certificate",
);
export const zone = text(/^[A-Z0-9]{1,32}$/, "the identifier of a Route 53 zone");
export const topic = text(/^arn:aws[\w-]*:sns:[\w-]+:\d{12}:[\w-]+$/, "the ARN of an SNS topic");
export const eventBuses: z.ZodType<readonly string[]> = text(
  /^arn:aws[\w-]*:events:[\w-]+:\d{12}:event-bus\/[\w./-]+(?:,arn:aws[\w-]*:events:[\w-]+:\d{12}:event-bus\/[\w./-]+)*$/,
  "ARNs of event buses, with commas between them",
)
  .transform((names) => names.split(","))
  .meta({ expected: "ARNs of event buses, with commas between them" });
export const email = text(/^[^\s@]+@[^\s@]+$/, "an e-mail address");
export const key = text(/^arn:aws[\w-]*:kms:[\w-]+:\d{12}:key\/[\w-]+$/, "the ARN of a KMS key");
export const versionName = text(/^[\w.+-]{1,64}$/, "a version or a commit");
export const units = orNone(whole(1, 1_000_000));
