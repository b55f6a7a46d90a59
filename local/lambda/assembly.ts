import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as z from "zod";
import { LocalError } from "../server.ts";

type Json = z.infer<ReturnType<typeof z.json>>;

const templateDocument = z.object({
  Resources: z.record(
    z.string(),
    z.object({ Type: z.string(), Properties: z.record(z.string(), z.json()).default({}) }),
  ),
  Parameters: z.record(z.string(), z.object({ Default: z.json().optional() })).default({}),
});

type TemplateDocument = z.infer<typeof templateDocument>;

/** Merges templates: stacks refer to each other's resources by name only. */
const together = (documents: readonly TemplateDocument[]): TemplateDocument => {
  const ids = documents.flatMap(({ Resources }) => Object.keys(Resources));
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new LocalError(`Two stacks have a resource ${twice}.`);
  return {
    Resources: Object.assign({}, ...documents.map(({ Resources }) => Resources)),
    Parameters: Object.assign({}, ...documents.map(({ Parameters }) => Parameters)),
  };
};

export const readAssembly = (folder: string): Assembly => {
  const templates = readdirSync(folder).filter((file) => file.endsWith(".template.json"));
  const documents = templates.map((file) =>
    templateDocument.parse(JSON.parse(readFileSync(join(folder, file), "utf8"))),
  );
  return new Assembly(together(documents), folder);
};

/** Account id in the resources' ARNs. */
export const ACCOUNT = "123456789012";

/** Logical id of the function in an ARN, or in API Gateway's invocation URI. */
export const functionIdIn = (name: string): string => {
  const id = /:function:([^/:]+)(?:\/invocations)?$/.exec(name)?.[1];
  if (id === undefined)
    throw new LocalError(`The local run does not support ${name} in place of a function.`);
  return id;
};

const isIntrinsic = (value: Record<string, Json>): boolean => {
  const [name, ...others] = Object.keys(value);
  return others.length === 0 && name !== undefined && (name === "Ref" || name.startsWith("Fn::"));
};

/** What a template learns where it is deployed, on which nothing here depends. */
const PSEUDO_PARAMETERS: Readonly<Record<string, string>> = {
  "AWS::AccountId": ACCOUNT,
  "AWS::Partition": "aws",
  "AWS::Region": "local",
};

/**
 * Output of `cdk synth`: the stacks' templates, merged, and their assets' folders. Most faults of a serverless service
 * are in routes, gateway errors and cached policies, so what runs here is what deploys.
 *
 * References resolve to logical ids. One that cannot be resolved is an error: a local run must not differ silently from a
 * deployment.
 */
export class Assembly {
  readonly document: TemplateDocument;
  readonly folder: string;

  constructor(document: TemplateDocument, folder: string) {
    this.document = document;
    this.folder = folder;
  }

  /** Folder of the code that a function's `S3Key` names. */
  codeFolder(s3Key: string): string {
    const asset = join(this.folder, `asset.${s3Key.replace(/\.zip$/, "")}`);
    if (!existsSync(asset)) throw new LocalError(`The assembly has no asset ${s3Key}.`);
    return asset;
  }

  /** Resources of a type by logical id, their properties resolved and parsed. */
  resourcesOf<Schema extends z.ZodType>(type: string, schema: Schema): Map<string, z.output<Schema>> {
    return new Map(
      Object.entries(this.document.Resources)
        .filter(([, resource]) => resource.Type === type)
        .map(([id, { Properties }]) => {
          const parsed = schema.safeParse(this.#resolve(Properties));
          if (!parsed.success)
            throw new LocalError(
              `The local run does not support ${type} ${id}: ${z.prettifyError(parsed.error)}`,
            );
          return [id, parsed.data];
        }),
    );
  }

  /** Properties of the one resource of a type. */
  onlyResource<Schema extends z.ZodType>(type: string, schema: Schema): z.output<Schema> {
    const resources = this.resourcesOf(type, schema);
    const [resource, ...others] = resources.values();
    if (resource === undefined || others.length > 0)
      throw new LocalError(`The template must have one ${type}; it has ${resources.size}.`);
    return resource;
  }

  #resolve(value: Json): Json {
    if (Array.isArray(value)) return value.map((item) => this.#resolve(item));
    if (typeof value !== "object" || value === null) return value;
    if (isIntrinsic(value)) return this.#intrinsic(value);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#resolve(item)]));
  }

  #intrinsic(value: Record<string, Json>): Json {
    if (typeof value["Ref"] === "string") return this.#reference(value["Ref"]);
    const [name = "", argument = null] = Object.entries(value)[0] ?? [];
    if (name === "Fn::Sub" && typeof argument === "string")
      return argument.replaceAll(/\$\{([^}]+)\}/g, (_, id: string) => String(this.#reference(id)));
    const resolved = this.#resolve(argument);
    if (Array.isArray(resolved)) {
      const [first, second] = resolved;
      if (name === "Fn::GetAtt") return this.#attribute(String(first), String(second));
      if (name === "Fn::Join" && Array.isArray(second)) return second.join(String(first));
      if (name === "Fn::Split") return String(second).split(String(first));
      if (name === "Fn::Select" && Array.isArray(second)) return second[Number(first)] ?? null;
    }
    throw new LocalError(`The local run does not support ${JSON.stringify(value)} in the template.`);
  }

  #reference(name: string): Json {
    const parameter = this.document.Parameters[name];
    if (parameter) return parameter.Default ?? "";
    const pseudoParameter = PSEUDO_PARAMETERS[name];
    if (pseudoParameter !== undefined) return pseudoParameter;
    if (this.document.Resources[name]) return name;
    throw new LocalError(`The template refers to ${name}, which it does not define.`);
  }

  #attribute(id: string, attribute: string): string {
    const name = this.#reference(id);
    return attribute === "Arn" && this.document.Resources[id]?.Type === "AWS::Lambda::Function"
      ? `arn:aws:lambda:local:${ACCOUNT}:function:${name}`
      : `${name}.${attribute}`;
  }
}

const APP = fileURLToPath(new URL("default-app.ts", import.meta.url));

/** Synthesizes a CDK application as the CDK CLI does, in a child process that does not outlive this one. */
export const synthesize = async (options: {
  /** Of the assembly. */
  readonly folder: string;
  /** The application's module; unset: the service, with the defaults. */
  readonly app?: string;
  readonly signal?: AbortSignal;
}): Promise<Assembly> => {
  const running = promisify(execFile)(process.execPath, [options.app ?? APP], {
    // The CDK's validation takes seconds; `cdk synth` and the tests validate the same templates.
    env: { ...process.env, CDK_OUTDIR: options.folder, CDK_VALIDATION: "false" },
    ...(options.signal && { signal: options.signal }),
  });
  const kill = (): void => void running.child.kill();
  process.once("exit", kill);
  try {
    await running;
  } catch (error) {
    options.signal?.throwIfAborted();
    const reason = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
    throw new LocalError(`The stack could not be synthesized: ${reason}`, { cause: error });
  } finally {
    process.removeListener("exit", kill);
  }
  return readAssembly(options.folder);
};

/** Synthesizes the service into a folder that is removed with the resources, or when the process exits. */
export const synthesizeForRun = async (
  resources: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Assembly> => {
  const folder = mkdtempSync(join(tmpdir(), "entitlements-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  resources.defer(() => {
    process.removeListener("exit", remove);
    remove();
  });
  return synthesize({ folder, signal });
};
