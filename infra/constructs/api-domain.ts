import { DomainName, EndpointType, SecurityPolicy, type RestApi } from "aws-cdk-lib/aws-apigateway";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import { CfnRecordSet } from "aws-cdk-lib/aws-route53";
import { Construct } from "constructs";
import type { DomainParameters } from "../parameters.ts";

export interface ApiDomainProps extends DomainParameters {
  readonly api: RestApi;
}

/** A domain of one's own in front of the API, with an alias record where its zone is known. */
export class ApiDomain extends Construct {
  /** What a record of the domain has to point to. */
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
