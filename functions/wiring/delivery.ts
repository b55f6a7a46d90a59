import type { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { isWebhook } from "../../lib/applications/destination.ts";
import { createDeliveryQueue } from "../../lib/table/telling/delivery-queue.ts";
import type { AllowsDestination } from "../../lib/delivery/allowed-destinations.ts";
import type { DeliveryRun } from "../../lib/delivery/deliver-messages.ts";
import { createEventBusSender } from "../../lib/delivery/event-bus.ts";
import { signingSecrets } from "../../lib/delivery/webhook-secret.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { createTextSender, createWebhookSender } from "../../lib/delivery/webhook/webhook.ts";
import { createForwardQueue } from "../../lib/table/telling/forwards.ts";
import { applicationsOf, directoryOf, runOf, type Upkeep } from "./service.ts";
import type { MasterSecretAccess } from "./telling.ts";

interface DestinationAccess {
  /** Whether a webhook may use plain HTTP or a private address, as on a developer's machine. */
  readonly allowsDestination: AllowsDestination;
  /** Client for the region of a bus, by its ARN. */
  readonly eventBusClientOf: (eventBus: string) => EventBridgeClient;
}

export const composeDelivery = (
  configuration: Upkeep & MasterSecretAccess & DestinationAccess,
): DeliveryRun => {
  const { table, now, masterSecret, allowsDestination, eventBusClientOf } = configuration;
  /** A sender for each URL: addresses are checked unless the URL is allowed as it is. */
  const byUrl = <Sender>(create: (rules: { isAnyAddressAllowed: boolean; now: () => Instant }) => Sender) => {
    const checked = create({ isAnyAddressAllowed: false, now });
    const unchecked = create({ isAnyAddressAllowed: true, now });
    return (url: string): Sender => (allowsDestination(url) ? unchecked : checked);
  };
  const [webhookTo, textTo] = [byUrl(createWebhookSender), byUrl(createTextSender)];
  return {
    directory: directoryOf(configuration),
    queue: createDeliveryQueue(table),
    applications: applicationsOf(configuration),
    forwarding: {
      queue: createForwardQueue(table),
      send: async (url, { body, contentType }) =>
        textTo(url).send(url, body, { "content-type": contentType }),
    },
    send: async (application, destination, messages) => {
      if (!isWebhook(destination))
        return createEventBusSender(eventBusClientOf(destination.eventBus)).send(
          destination.eventBus,
          messages,
        );
      const { url } = destination;
      const secrets = signingSecrets(await masterSecret(), application, destination, now());
      return Promise.all(messages.map(async (message) => webhookTo(url).send(url, message, secrets)));
    },
    ...runOf(configuration),
  };
};
