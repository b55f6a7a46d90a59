import { createFeedTable } from "../../lib/table/telling/feed.ts";
import type { FeedReading } from "../../lib/telling/read-changes.ts";
import type { ServiceConfiguration } from "./service.ts";

export const composeFeedReading = ({ table, now }: ServiceConfiguration): FeedReading => ({
  feed: createFeedTable(table),
  now,
});
