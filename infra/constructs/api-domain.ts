import { DomainName, EndpointType, SecurityPolicy, type RestApi } from "aws-cdk-lib/aws-apigateway";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import { CfnRecordSet } from "aws-cdk-lib/aws-route53";
import { Construct } from "constructs";
import type { DomainParameters } from "../parameters.ts";

export interface ApiDomainProps extends DomainParameters {
  readonly api: RestApi;
}

/** Custom domain of the API, with an alias record if its hosted zone is given. */
export class ApiDomain extends Construct {
  /** Target of the domain's DNS record. */
  readonly target: string;

  constructor(scope: Construct, id: string, { name, certificateArn, hostedZoneId, api }: ApiDomainProps) {
    super(scope, id);
    const domain = new DomainName(this, "Domain", {
      domainName: name,
      certificate: Certificate.fromCertificateArn(this, "Certificate", certificateArn),
      endpointType: EndpointType.REGIONAL,
      securityPolicy: SecurityPolicy.TLS_1_2,
    });
    domain.addBasePathMapping(api, { stage: api.deploymentStage });
    this.target = domain.domainNameAliasDomainName;
    if (hostedZoneId !== null)
      new CfnRecordSet(this, "Alias", {
        name,
        type: "A",
        hostedZoneId,
        aliasTarget: {
          dnsName: domain.domainNameAliasDomainName,
          hostedZoneId: domain.domainNameAliasHostedZoneId,
        },
      });
  }
}
