import type { Instant } from "../entitlements/time.ts";

interface NamedDestination {
  /** Unique in the application; letters, digits, `-` and `_`. */
  readonly name: string;
}

/** An HTTPS endpoint of the application's, told by signed messages. */
export interface WebhookDestination extends NamedDestination {
  readonly url: string;
  /**
   * Times at which its signing secret was made anew, newest first; empty: never. Each time names a secret, and nothing
   * here is one.
   */
  readonly secretEpochs: readonly Instant[];
}

/** An EventBridge bus, told by events. */
export interface EventBusDestination extends NamedDestination {
  /** ARN of the bus. */
  readonly eventBus: string;
}

/** A place that is told of every change of an account's entitlements. */
export type Destination = WebhookDestination | EventBusDestination;

export const isWebhook = (destination: Destination): destination is WebhookDestination =>
  "url" in destination;
