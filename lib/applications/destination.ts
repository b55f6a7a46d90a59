import type { Instant } from "../entitlements/time.ts";

interface NamedDestination {
  /** Unique in the application; letters, digits, `-` and `_`. */
  readonly name: string;
}

/** An endpoint of the application that receives signed messages. */
export interface WebhookDestination extends NamedDestination {
  readonly url: string;
  /** Times of its secret's rotations, newest first. Not secret: the secrets also need the master secret. */
  readonly secretEpochs: readonly Instant[];
}

export interface EventBusDestination extends NamedDestination {
  readonly eventBus: string;
}

/** Receives every change of an account's entitlements. */
export type Destination = WebhookDestination | EventBusDestination;

export const isWebhook = (destination: Destination): destination is WebhookDestination =>
  "url" in destination;
