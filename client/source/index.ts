export {
  createEntitlementsClient,
  type EntitlementsClient,
  type EntitlementsClientOptions,
} from "./client.ts";
export { EntitlementsError, type FailureCode } from "./error.ts";
export {
  MessageError,
  signMessage,
  verifyMessage,
  type AccountChange,
  type Message,
  type MessageFault,
  type MessageHeaders,
  type StoreRequest,
  type VerifyOptions,
} from "./messages.ts";
export type { CacheOptions } from "./answer-cache.ts";
export type { ChangesPage, FeedChange, FeedPosition, FollowOptions } from "./changes.ts";
export type { CallOptions, Clock } from "./transport.ts";
export type {
  AccountEntitlements,
  AndroidStoreLinkRequest,
  CustomerEntitlement,
  ErrorCode,
  ErrorIssue,
  IosStoreLinkRequest,
  LinkResponse,
  Status,
  Store,
} from "./contract.ts";
