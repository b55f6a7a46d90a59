import * as z from "zod";
import { androidChange, type RequestedAndroidChange } from "../sandbox/android-store/shop/changes.ts";
import type { AndroidPublisherSandbox } from "../sandbox/android-store/publisher.ts";
import { changeSchema } from "../sandbox/ios-store/shop/change.ts";
import type { IosStoreSandbox } from "../sandbox/ios-store/ios-store.ts";

/** The sandbox of Google Play, which takes a change as its endpoint does. */
export interface TestAndroidStore extends Omit<AndroidPublisherSandbox, "change"> {
  /**
   * @returns the token of the changed purchase, or of the one that took its place
   * @throws if there is no such change, or the purchase does not allow it; then nothing has changed
   */
  change(purchaseToken: string, change: RequestedAndroidChange): string;
}

const checked = <Schema extends z.ZodType>(schema: Schema, change: unknown): z.output<Schema> => {
  const { data, error } = schema.safeParse(change);
  if (error === undefined) return data as z.output<Schema>;
  throw new Error(
    `The store has no such change; write { change: "cancel" } or another of its changes.\n${z.prettifyError(error)}`,
  );
};

/** The iOS store, which refuses a change that it does not have in a sentence. */
export const withIosChanges = (store: IosStoreSandbox): IosStoreSandbox => ({
  ...store,
  change: async (identifier, change) => {
    checked(changeSchema, change);
    return store.change(identifier, change);
  },
});

export const withAndroidChanges = (store: AndroidPublisherSandbox): TestAndroidStore => ({
  ...store,
  change: (purchaseToken, requested) => {
    const { change, ...details } = checked(androidChange, requested);
    return store.change(purchaseToken, change, details);
  },
});
