import type { IncomingMessage } from "node:http";
import * as z from "zod";
import type { ItemKind } from "../../../lib/contract/table-access.ts";
import { partitionPatterns } from "../../../lib/table/keys.ts";
import type { Assembly } from "../../../local/lambda/assembly.ts";
import { startProxy, type ProxiedRequest } from "./proxy.ts";

/** One item's part of a request to DynamoDB, as IAM authorizes it. */
interface Access {
  /** Logical id of the function. */
  readonly function: string;
  readonly action: string;
  readonly partitionKey: string;
}

/** Access of a function to a kind of items. */
export interface KindAccess extends Pick<Access, "function"> {
  readonly action: "read" | "change";
  readonly kind: ItemKind | null;
}

const LEADING_KEYS = "dynamodb:LeadingKeys";
const list = z.union([z.string().transform((one) => [one]), z.array(z.string())]);
const statement = z.object({
  Effect: z.literal("Allow"),
  Action: list,
  Condition: z
    .object({ "ForAllValues:StringLike": z.object({ [LEADING_KEYS]: list }).optional() })
    .optional(),
});
const policy = z.object({
  Roles: z.array(z.string()),
  PolicyDocument: z.object({ Statement: z.array(statement) }),
});
const lambda = z.object({ Role: z.string() });

/** A pattern of IAM's `StringLike`. */
const likeOf = (pattern: string): RegExp => {
  const escaped = pattern.replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`, "s");
};

const PARTITIONS_OF = partitionPatterns();
const KINDS = Object.keys(PARTITIONS_OF) as ItemKind[];
const PARTITIONS = KINDS.map((kind) => [kind, likeOf(PARTITIONS_OF[kind])] as const);

/** Kind of the items in a partition. */
const kindOf = (partitionKey: string): ItemKind | null =>
  PARTITIONS.find(([, partition]) => partition.test(partitionKey))?.[0] ?? null;

/** Grants of the assembly's functions on the table, by logical id: actions on patterns of partition keys. */
const rolesOf = (assembly: Assembly) => {
  const policies = [...assembly.resourcesOf("AWS::IAM::Policy", policy).values()];
  const grantsOfRole = (role: string) =>
    policies
      .filter(({ Roles }) => Roles.includes(role))
      .flatMap(({ PolicyDocument }) => PolicyDocument.Statement)
      .map(({ Action, Condition }) => {
        const patterns = Condition?.["ForAllValues:StringLike"]?.[LEADING_KEYS] ?? ["*"];
        return {
          actions: Action.filter((action) => action.endsWith("Item") || action === "dynamodb:Query"),
          patterns,
          partitions: patterns.map(likeOf),
        };
      })
      .filter(({ actions }) => actions.length > 0);
  return new Map(
    [...assembly.resourcesOf("AWS::Lambda::Function", lambda)].map(([id, { Role }]) => [
      id,
      grantsOfRole(Role.split(".")[0] ?? ""),
    ]),
  );
};

const CHANGES = /^dynamodb:(?:Put|Update|Delete)Item$/;

const kindAccess = ({ function: id, action, partitionKey }: Access): KindAccess => ({
  function: id,
  action: CHANGES.test(action) ? "change" : "read",
  kind: kindOf(partitionKey),
});

/** Accesses that the roles of the assembly's functions allow. A kind that a function changes is not listed as read. */
export const grantsOf = (assembly: Assembly): readonly KindAccess[] =>
  [...rolesOf(assembly)].flatMap(([id, grants]) => {
    const all = grants.flatMap(({ actions, patterns }) =>
      patterns.map((pattern): KindAccess => {
        const kind = KINDS.find((one) => PARTITIONS_OF[one] === pattern) ?? null;
        return { function: id, action: actions.some((one) => CHANGES.test(one)) ? "change" : "read", kind };
      }),
    );
    const changed = new Set(all.flatMap(({ action, kind }) => (action === "change" ? [kind] : [])));
    return all.filter(({ action, kind }) => action === "change" || !changed.has(kind));
  });

const key = z.object({ pk: z.object({ S: z.string() }) });
/** The partition key of the item that a request, or a part of one, names; empty: it names none. */
const named = z
  .object({ Key: key.optional(), Item: key.optional() })
  .transform(({ Key, Item }) => (Key ?? Item)?.pk.S ?? "");
/** No role may read an index. */
const query = z
  .object({
    IndexName: z.string().optional(),
    ExpressionAttributeValues: z.object({ ":pk": z.object({ S: z.string() }) }),
  })
  .transform(({ IndexName, ExpressionAttributeValues: values }) =>
    IndexName === undefined ? values[":pk"].S : "",
  );
const batch = z.object({ RequestItems: z.record(z.string(), z.object({ Keys: z.array(key) })) });
const transaction = z.object({ TransactItems: z.array(z.record(z.string(), named)) });

type Part = Omit<Access, "function">;

/** Actions and partition keys by which IAM authorizes an operation. Operations that no function needs are refused whole. */
const partsOf = (operation: string, body: unknown): readonly Part[] => {
  const one = (partitionKey: string): Part[] => [{ action: `dynamodb:${operation}`, partitionKey }];
  switch (operation) {
    case "GetItem":
    case "PutItem":
    case "UpdateItem":
    case "DeleteItem":
      return one(named.parse(body));
    case "Query":
      return one(query.parse(body));
    case "BatchGetItem":
      return Object.values(batch.parse(body).RequestItems).flatMap(({ Keys }) =>
        Keys.flatMap(({ pk }) => one(pk.S)),
      );
    case "TransactGetItems":
    case "TransactWriteItems":
      return transaction.parse(body).TransactItems.flatMap((item) =>
        Object.entries(item).map(([kind, partitionKey]) => ({
          action: `dynamodb:${kind}Item`,
          partitionKey,
        })),
      );
    default:
      return one("");
  }
};

/** Access key of a request, which the function's logical id begins. */
const accessKeyOf = ({ headers }: IncomingMessage): string =>
  /Credential=([^/]+)\//.exec(headers.authorization ?? "")?.[1] ?? "";

const REFUSAL = JSON.stringify({
  __type: "com.amazon.coral.service#AccessDeniedException",
  Message: "The role of the function does not allow this.",
});

/**
 * A proxy in front of DynamoDB that holds each function to its role's policies, as IAM does. Other clients pass.
 *
 * @param target the database's address
 */
export const startRoleGate = async (assembly: Assembly, target: string) => {
  const roles = rolesOf(assembly);
  const allowed = new Map<string, KindAccess>();
  const denied = new Map<string, Access>();
  let failing: string | null = null;

  const isRefused = ({ incoming, operation, body }: ProxiedRequest): boolean => {
    const key = accessKeyOf(incoming);
    const [id, grants] = [...roles].find(([logicalId]) => key.startsWith(logicalId)) ?? [];
    if (id === undefined || grants === undefined) return false;
    const parts = partsOf(operation, JSON.parse(body.toString())).map((part) => ({ ...part, function: id }));
    const refused = parts.filter(
      ({ action, partitionKey }) =>
        !grants.some(
          ({ actions, partitions }) =>
            actions.includes(action) && partitions.some((partition) => partition.test(partitionKey)),
        ),
    );
    for (const access of refused) denied.set(JSON.stringify([access.action, kindAccess(access)]), access);
    if (refused.length > 0) return true;
    for (const access of parts.map(kindAccess)) allowed.set(JSON.stringify(access), access);
    return false;
  };

  const { address, stop } = await startProxy(target, async (request, response, pass) => {
    if (failing !== null && accessKeyOf(request.incoming).startsWith(failing)) response.writeHead(500).end();
    else if (isRefused(request))
      response.writeHead(400, { "content-type": "application/x-amz-json-1.0" }).end(REFUSAL);
    else (await pass())();
  });
  return {
    endpoint: address,
    /** Accesses that a role allowed, once for each kind of items. */
    get allowed() {
      return [...allowed.values()];
    },
    /** Accesses that a role did not allow, once for each action and kind; their requests were refused. */
    get denied() {
      return [...denied.values()];
    },
    /** Answers the function's requests with an error of the database; null: no function's. */
    failFor: (name: string | null): void => {
      failing = name;
    },
    stop,
  };
};
