import * as z from "zod";
import { isForwardedHere, type Destination } from "../../applications/application.ts";
import {
  ANDROID_STORE_FIELDS,
  APPLICATION_FIELDS,
  IOS_STORE_FIELDS,
  PRODUCT_FIELDS,
  withDefaults,
} from "../../applications/fields.ts";
import { applicationId } from "../../identifiers.ts";
import { destinationUrl, either, isMapping, name, shapeOf, type ManifestTrust } from "./manifest-values.ts";

/**
 * A rule on some fields, checked even if others are invalid, so that all problems are reported together.
 *
 * @param fields the first is that of the problem
 */
const rule = <Fields extends string>(fields: readonly [Fields, ...Fields[]], message: string) => ({
  path: [fields[0]],
  message,
  when: ({ value, issues }: z.core.ParsePayload): boolean =>
    isMapping(value) && !issues.some(({ path }) => fields.some((field) => field === path?.[0])),
});

const DEFAULT_ENVIRONMENTS = IOS_STORE_FIELDS.environments.default;

const iosStore = (trust: ManifestTrust) =>
  z
    .strictObject(shapeOf(IOS_STORE_FIELDS, trust))
    .refine(
      ({ appAppleIdentifier, environments = DEFAULT_ENVIRONMENTS }) =>
        appAppleIdentifier !== undefined || !environments.includes("production"),
      rule(["appAppleIdentifier", "environments"], "is required where production is accepted"),
    )
    .refine(
      ({ environments = DEFAULT_ENVIRONMENTS, xcodeCertificates }) =>
        !environments.includes("xcode") || xcodeCertificates !== undefined,
      rule(["xcodeCertificates", "environments"], "is required where environments includes xcode"),
    )
    .refine(
      ({ environments = DEFAULT_ENVIRONMENTS, serverApi }) =>
        serverApi === undefined || environments.some((environment) => environment !== "xcode"),
      rule(
        ["serverApi", "environments"],
        "is not possible where only xcode is accepted: the App Store knows no purchase made in Xcode",
      ),
    )
    .refine(
      ({ notifications, serverApi }) =>
        notifications === undefined || !isForwardedHere({ notifications }) || serverApi !== undefined,
      rule(
        ["serverApi", "notifications"],
        "is required with forwardedBy: only Apple's own history shows what was not forwarded",
      ),
    )
    .transform((store) => withDefaults(IOS_STORE_FIELDS, store));

const androidStore = (trust: ManifestTrust) =>
  z
    .strictObject(shapeOf(ANDROID_STORE_FIELDS, trust))
    .transform((store) => withDefaults(ANDROID_STORE_FIELDS, store));

const product = z
  .strictObject(shapeOf(PRODUCT_FIELDS))
  .refine(
    ({ store, basePlanIdentifier }) => store !== "ios-store" || basePlanIdentifier === undefined,
    rule(["basePlanIdentifier", "store"], "is for android-store only"),
  )
  .refine(
    ({ store, purchaseOptionIdentifier }) => store !== "ios-store" || purchaseOptionIdentifier === undefined,
    rule(["purchaseOptionIdentifier", "store"], "is for android-store only"),
  )
  .refine(
    ({ basePlanIdentifier, purchaseOptionIdentifier }) =>
      basePlanIdentifier === undefined || purchaseOptionIdentifier === undefined,
    rule(
      ["purchaseOptionIdentifier", "basePlanIdentifier"],
      "must not be combined with basePlanIdentifier: base plans belong to subscriptions, purchase options to one-time products",
    ),
  )
  .refine(
    ({ basePlanIdentifier, accessDuration }) =>
      basePlanIdentifier === undefined || accessDuration === undefined,
    rule(
      ["accessDuration", "basePlanIdentifier"],
      "must not be combined with basePlanIdentifier: a subscription has its own end",
    ),
  )
  .transform((given) => withDefaults(PRODUCT_FIELDS, given));

/** Used in table keys and as an argument of the command line. */
const destinationName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, "must be at most 64 letters, digits, '-' and '_'");

const EVENT_BUS = /^arn:aws[a-z-]*:events:[a-z0-9-]+:\d{12}:event-bus\/[A-Za-z0-9/._-]{1,256}$/;

const destination = (trust: ManifestTrust) =>
  z
    .strictObject({
      name: destinationName,
      url: destinationUrl(trust).optional(),
      eventBus: z.string().regex(EVENT_BUS, "must be the ARN of an EventBridge event bus").optional(),
    })
    .transform(({ name, url, eventBus }, context): Destination =>
      either(
        url === undefined ? undefined : { name, url, secretEpochs: [] },
        eventBus === undefined ? undefined : { name, eventBus },
        context,
        "must have either a url or an eventBus",
      ),
    );

/** Each change writes one delivery item per destination in its own transaction. */
const DESTINATIONS = 5;

const uuid = z.uuid("must be a UUID").transform((text) => applicationId(text.toLowerCase()));

/** Schema of a manifest; rules across its parts are checked by `readManifest`. */
export const manifestSchema = (trust: ManifestTrust) =>
  z.strictObject({
    application: z
      .strictObject({ identifier: uuid.optional(), ...shapeOf(APPLICATION_FIELDS) })
      .transform(({ identifier = null, ...given }) => ({
        identifier,
        ...withDefaults(APPLICATION_FIELDS, given),
      })),
    destinations: z.array(destination(trust)).max(DESTINATIONS, `must be at most ${DESTINATIONS}`).optional(),
    stores: z
      .strictObject({
        "ios-store": z.array(iosStore(trust)).optional(),
        "android-store": z.array(androidStore(trust)).optional(),
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
