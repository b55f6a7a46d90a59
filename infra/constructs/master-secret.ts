import { RemovalPolicy } from "aws-cdk-lib";
import { Key } from "aws-cdk-lib/aws-kms";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { Construct } from "constructs";
import { masterSecretName } from "../../lib/delivery/master-secret.ts";
import type { Parameters } from "../parameters.ts";
import { acceptFinding } from "./accept-finding.ts";

export interface MasterSecretProps {
  readonly serviceName: string;
  /** The table's removal policy. */
  readonly removal: Parameters["removal"];
  /** Customer's key that encrypts it; null: Secrets Manager's own. */
  readonly keyArn: string | null;
}

/**
 * Secret from which the destinations' secrets and the hashes of erased accounts are derived. Without it no receiver can
 * verify a message any more, so it is removed only with the table.
 */
export class MasterSecret extends Construct {
  constructor(scope: Construct, id: string, { serviceName, removal, keyArn }: MasterSecretProps) {
    super(scope, id);
    const secret = new Secret(this, "Secret", {
      secretName: masterSecretName(serviceName),
      description: "Master secret of the destinations' secrets. Never change it.",
      generateSecretString: { passwordLength: 64, excludePunctuation: true },
      ...(keyArn !== null && { encryptionKey: Key.fromKeyArn(this, "Key", keyArn) }),
      removalPolicy: removal === "retain" ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
    });
    acceptFinding(secret, {
      "AwsSolutions-SMG4":
        "A new value would change all destinations' secrets at once; each is rotated by itself, with an overlap.",
    });
  }
}
