import { isWebhook, type Application } from "../../applications/application.ts";
import {
  ANDROID_STORE_FIELDS,
  APPLICATION_FIELDS,
  IOS_STORE_FIELDS,
  isDefault,
  PRODUCT_FIELDS,
  type Field,
  type Fields,
  type Given,
  type Values,
} from "../../applications/fields.ts";
import type { Period } from "../../entitlements/time.ts";
import { durationText, periodText } from "./manifest-values.ts";

/** Fields as a manifest shows them: without defaults, and with times as texts. */
type Shown<Named extends Fields> = {
  readonly [Name in keyof Given<Named>]: Name extends "renewalLeeway" | "accessDuration"
    ? string
    : Given<Named>[Name];
};

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
