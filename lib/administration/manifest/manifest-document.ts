import type { Application } from "../../applications/application.ts";
import { isWebhook } from "../../applications/destination.ts";
import {
  ANDROID_STORE_FIELDS,
  APPLICATION_FIELDS,
  IOS_STORE_FIELDS,
  isDefault,
  PRODUCT_FIELDS,
  type Field,
  type Fields,
  type ValueOf,
  type Values,
} from "../../applications/fields.ts";
import type { Period } from "../../entitlements/time.ts";
import type { ApplicationId } from "../../identifiers.ts";
import { durationText, periodText } from "./manifest-values.ts";

type ShownValue<One extends Field> = One extends { kind: "duration" | "period" } ? string : ValueOf<One>;

/** Whether a manifest may leave the field out. */
type LeftOut<One extends Field> = One extends { isAlwaysShown: true }
  ? false
  : One extends { default: unknown }
    ? true
    : false;

/** The fields as a manifest shows them: without defaults, and with times as texts. */
type Shown<Named extends Fields> = {
  readonly [Name in keyof Named as LeftOut<Named[Name]> extends true ? never : Name]: ShownValue<Named[Name]>;
} & {
  readonly [Name in keyof Named as LeftOut<Named[Name]> extends true ? Name : never]?: ShownValue<
    Named[Name]
  >;
};

/** A manifest as data. Reading it gives the same application again. */
export interface ManifestDocument {
  readonly application: { readonly identifier: ApplicationId } & Shown<typeof APPLICATION_FIELDS>;
  readonly destinations: readonly {
    readonly name: string;
    readonly url?: string;
    readonly eventBus?: string;
  }[];
  readonly stores: {
    readonly "ios-store": readonly Shown<typeof IOS_STORE_FIELDS>[];
    readonly "android-store": readonly Shown<typeof ANDROID_STORE_FIELDS>[];
  };
  readonly entitlements: Readonly<Record<string, { readonly displayName: string }>>;
  readonly products: readonly Shown<typeof PRODUCT_FIELDS>[];
}

const shownValue = ({ kind }: Field, value: unknown): unknown =>
  kind === "duration"
    ? durationText(value as number)
    : kind === "period"
      ? periodText(value as Period)
      : value;

const shown = <Named extends Fields>(fields: Named, values: Values<Named>): Shown<Named> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      const value: unknown = values[name];
      return field.isAlwaysShown !== true && isDefault(field, value)
        ? []
        : [[name, shownValue(field, value)]];
    }),
  ) as Shown<Named>;

export const manifestOf = (application: Application): ManifestDocument => ({
  application: { identifier: application.identifier, ...shown(APPLICATION_FIELDS, application) },
  destinations: application.destinations.map((destination) =>
    isWebhook(destination)
      ? { name: destination.name, url: destination.url }
      : { name: destination.name, eventBus: destination.eventBus },
  ),
  stores: {
    "ios-store": application.iosStore.map((store) => shown(IOS_STORE_FIELDS, store)),
    "android-store": application.androidStore.map((store) => shown(ANDROID_STORE_FIELDS, store)),
  },
  entitlements: Object.fromEntries(
    [...application.catalog.displayNames].map(([identifier, displayName]) => [identifier, { displayName }]),
  ),
  products: application.catalog.products.map((product) => shown(PRODUCT_FIELDS, product)),
});
