import { Ajv, type ValidateFunction } from "ajv";
import { openApiDocument } from "../../lib/contract/openapi.ts";

interface Body {
  readonly content?: Record<string, { readonly schema: object }>;
}
interface Operation {
  readonly responses: Record<string, Body>;
}

const {
  paths,
  components,
  "x-webhooks": webhooks,
} = JSON.parse(JSON.stringify(openApiDocument())) as {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly "x-webhooks": Record<string, { readonly post: { readonly requestBody: Body } }>;
  readonly components: object;
};

const ajv = new Ajv({
  strict: false,
  allErrors: true,
  formats: {
    uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
    "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  },
});

const validators = new Map<string, ValidateFunction>();

/** Where a value is not as a schema of the document says. */
export const disagreements = (schema: object, value: unknown): readonly string[] => {
  const text = JSON.stringify(schema);
  const validate = validators.get(text) ?? ajv.compile({ ...schema, components });
  validators.set(text, validate);
  return validate(value)
    ? []
    : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
};

const asPattern = (path: string): RegExp => new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}/?$`);

/** Where an answer of the API is not as the document says; an unknown route is documented in general. */
export const undocumented = (
  method: string,
  path: string,
  status: number,
  body: unknown,
): readonly string[] => {
  const [pattern] = Object.keys(paths)
    .filter((one) => asPattern(one).test(path.split("?", 1)[0] ?? ""))
    .sort((a, b) => Number(a.includes("{")) - Number(b.includes("{")));
  const operation = pattern === undefined ? undefined : paths[pattern]?.[method.toLowerCase()];
  if (operation === undefined) return status === 404 ? [] : [`${method} ${path} answered ${status}`];
  const schema = operation.responses[String(status)]?.content?.["application/json"]?.schema;
  return schema === undefined
    ? [`${method} ${path} answered ${status}, which is not documented`]
    : disagreements(schema, body);
};

/** Where a message to a destination is not as the document says. */
export const undocumentedMessage = (message: unknown): readonly string[] => {
  const { type } = message as { readonly type: string };
  const schema = webhooks[type]?.post.requestBody.content?.["application/json"]?.schema;
  return schema === undefined ? [`${type} is not documented`] : disagreements(schema, message);
};
