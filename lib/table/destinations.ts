import { ConditionalCheckFailedException } from "@aws-sdk/client-dynamodb";
import { UpdateCommand } from "@aws-sdk/lib-dynamodb";
import type { DestinationSecrets } from "../administration/destinations.ts";
import type { destinationItem } from "./application-items.ts";
import { secretsUnchanged } from "./conditions.ts";
import { keys } from "./keys.ts";
import type { Attributes, Table } from "./table.ts";
import { updateOf } from "./writes.ts";

/** What an operator alone does to destinations. */
export interface DestinationTable extends DestinationSecrets {}

export const createDestinationTable = ({ client, name: table }: Table): DestinationTable => ({
  setSecretEpochs: async (application, before, secretEpochs) => {
    const rotated = { secretEpochs } satisfies Partial<Attributes<typeof destinationItem>>;
    const key = keys.destination(application, before.name);
    try {
      await client.send(new UpdateCommand(updateOf(table, key, rotated, secretsUnchanged(before))));
      return "written";
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return "conflict";
      throw error;
    }
  },
});
