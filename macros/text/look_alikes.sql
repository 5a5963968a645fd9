{#- Letters that read as one of A to Z, by that letter: the wide, bold, circled and accented ones of
    Unicode (compatibility forms and marks taken off), and those of other scripts that look like it
    (Cyrillic, Greek, Armenian, Cherokee, Lisu, Coptic). The lists come from the character data of
    Unicode 14; a test makes the former anew. -#}
{% macro look_alikes() %}
    {{ return({
        "A": [
            "\u00c0\u00c1\u00c2\u00c3\u00c4\u00c5\u0100\u0102\u0104\u01cd\u01de\u01e0\u01fa",
            "\u0200\u0202\u0226\u023a\u0386\u0391\u0410\u04d0\u04d2\u13aa\u1d00\u1d2c\u1e00",
            "\u1ea0\u1ea2\u1ea4\u1ea6\u1ea8\u1eaa\u1eac\u1eae\u1eb0\u1eb2\u1eb4\u1eb6\u1f08",
            "\u1f09\u1f0a\u1f0b\u1f0c\u1f0d\u1f0e\u1f0f\u1f88\u1f89\u1f8a\u1f8b\u1f8c\u1f8d",
            "\u1f8e\u1f8f\u1fb8\u1fb9\u1fba\u1fbb\u1fbc\u212b\u24b6\u2c80\ua4ee\uff21\U0001d400",
            "\U0001d434\U0001d468\U0001d49c\U0001d4d0\U0001d504\U0001d538\U0001d56c\U0001d5a0",
            "\U0001d5d4\U0001d608\U0001d63c\U0001d670\U0001d6a8\U0001d6e2\U0001d71c\U0001d756",
            "\U0001d790\U0001f130\U0001f150\U0001f170\U0001f1e6"
        ] | join,
        "B": [
            "\u0181\u0182\u0243\u0299\u0392\u0412\u13f4\u1d2e\u1e02\u1e04\u1e06\u212c\u24b7",
            "\u2c82\ua4d0\ua796\uff22\U0001d401\U0001d435\U0001d469\U0001d4d1\U0001d505",
            "\U0001d539\U0001d56d\U0001d5a1\U0001d5d5\U0001d609\U0001d63d\U0001d671\U0001d6a9",
            "\U0001d6e3\U0001d71d\U0001d757\U0001d791\U0001f131\U0001f151\U0001f171\U0001f1e7"
        ] | join,
        "C": [
            "\u00c7\u0106\u0108\u010a\u010c\u0187\u023b\u03f9\u0421\u13df\u1d04\u1e08\u2102",
            "\u212d\u216d\u24b8\u2ca4\ua4da\ua792\ua7c4\ua7f2\uff23\U0001d402\U0001d436",
            "\U0001d46a\U0001d49e\U0001d4d2\U0001d56e\U0001d5a2\U0001d5d6\U0001d60a\U0001d63e",
            "\U0001d672\U0001f12b\U0001f132\U0001f152\U0001f172\U0001f1e8"
        ] | join,
        "D": [
            "\u010e\u0110\u018a\u018b\u13a0\u1d05\u1d30\u1e0a\u1e0c\u1e0e\u1e10\u1e12\u2145",
            "\u216e\u24b9\ua4d3\ua7c7\uff24\U0001d403\U0001d437\U0001d46b\U0001d49f\U0001d4d3",
            "\U0001d507\U0001d53b\U0001d56f\U0001d5a3\U0001d5d7\U0001d60b\U0001d63f\U0001d673",
            "\U0001f133\U0001f153\U0001f173\U0001f1e9"
        ] | join,
        "E": [
            "\u00c8\u00c9\u00ca\u00cb\u0112\u0114\u0116\u0118\u011a\u0204\u0206\u0228\u0246",
            "\u0388\u0395\u0400\u0401\u0415\u04d6\u13ac\u1d07\u1d31\u1e14\u1e16\u1e18\u1e1a",
            "\u1e1c\u1eb8\u1eba\u1ebc\u1ebe\u1ec0\u1ec2\u1ec4\u1ec6\u1f18\u1f19\u1f1a\u1f1b",
            "\u1f1c\u1f1d\u1fc8\u1fc9\u2130\u24ba\u2c88\ua4f0\uff25\U0001d404\U0001d438",
            "\U0001d46c\U0001d4d4\U0001d508\U0001d53c\U0001d570\U0001d5a4\U0001d5d8\U0001d60c",
            "\U0001d640\U0001d674\U0001d6ac\U0001d6e6\U0001d720\U0001d75a\U0001d794\U0001f134",
            "\U0001f154\U0001f174\U0001f1ea"
        ] | join,
        "F": [
            "\u0191\u03dc\u1e1e\u2131\u24bb\ua4dd\ua730\ua798\ua7f3\uff26\U0001d405\U0001d439",
            "\U0001d46d\U0001d4d5\U0001d509\U0001d53d\U0001d571\U0001d5a5\U0001d5d9\U0001d60d",
            "\U0001d641\U0001d675\U0001d7ca\U0001f135\U0001f155\U0001f175\U0001f1eb"
        ] | join,
        "G": [
            "\u011c\u011e\u0120\u0122\u0193\u01e4\u01e6\u01f4\u0262\u050c\u13c0\u1d33\u1e20",
            "\u24bc\ua4d6\ua7a0\uff27\U0001d406\U0001d43a\U0001d46e\U0001d4a2\U0001d4d6",
            "\U0001d50a\U0001d53e\U0001d572\U0001d5a6\U0001d5da\U0001d60e\U0001d642\U0001d676",
            "\U0001f136\U0001f156\U0001f176\U0001f1ec"
        ] | join,
        "H": [
            "\u0124\u0126\u021e\u029c\u0389\u0397\u041d\u13bb\u1d34\u1e22\u1e24\u1e26\u1e28",
            "\u1e2a\u1f28\u1f29\u1f2a\u1f2b\u1f2c\u1f2d\u1f2e\u1f2f\u1f98\u1f99\u1f9a\u1f9b",
            "\u1f9c\u1f9d\u1f9e\u1f9f\u1fca\u1fcb\u1fcc\u210b\u210c\u210d\u24bd\u2c67\u2c8e",
            "\ua4e7\ua7aa\uff28\U0001d407\U0001d43b\U0001d46f\U0001d4d7\U0001d573\U0001d5a7",
            "\U0001d5db\U0001d60f\U0001d643\U0001d677\U0001d6ae\U0001d6e8\U0001d722\U0001d75c",
            "\U0001d796\U0001f137\U0001f157\U0001f177\U0001f1ed"
        ] | join,
        "I": [
            "\u00cc\u00cd\u00ce\u00cf\u0128\u012a\u012c\u012e\u0130\u0197\u01cf\u0208\u020a",
            "\u026a\u038a\u0399\u03aa\u0406\u0407\u04c0\u1d35\u1e2c\u1e2e\u1ec8\u1eca\u1f38",
            "\u1f39\u1f3a\u1f3b\u1f3c\u1f3d\u1f3e\u1f3f\u1fd8\u1fd9\u1fda\u1fdb\u2110\u2111",
            "\u2160\u24be\u2c92\ua4f2\uff29\U0001d408\U0001d43c\U0001d470\U0001d4d8\U0001d540",
            "\U0001d574\U0001d5a8\U0001d5dc\U0001d610\U0001d644\U0001d678\U0001d6b0\U0001d6ea",
            "\U0001d724\U0001d75e\U0001d798\U0001f138\U0001f158\U0001f178\U0001f1ee"
        ] | join,
        "J": [
            "\u0134\u0248\u037f\u0408\u13ab\u1d0a\u1d36\u24bf\ua4d9\ua7b2\uff2a\U0001d409",
            "\U0001d43d\U0001d471\U0001d4a5\U0001d4d9\U0001d50d\U0001d541\U0001d575\U0001d5a9",
            "\U0001d5dd\U0001d611\U0001d645\U0001d679\U0001f139\U0001f159\U0001f179\U0001f1ef"
        ] | join,
        "K": [
            "\u0136\u0198\u01e8\u039a\u040c\u041a\u13e6\u1d0b\u1d37\u1e30\u1e32\u1e34\u212a",
            "\u24c0\u2c69\u2c94\ua4d7\ua740\ua742\ua744\ua7a2\uff2b\U0001d40a\U0001d43e",
            "\U0001d472\U0001d4a6\U0001d4da\U0001d50e\U0001d542\U0001d576\U0001d5aa\U0001d5de",
            "\U0001d612\U0001d646\U0001d67a\U0001d6b1\U0001d6eb\U0001d725\U0001d75f\U0001d799",
            "\U0001f13a\U0001f15a\U0001f17a\U0001f1f0"
        ] | join,
        "L": [
            "\u0139\u013b\u013d\u013f\u0141\u023d\u029f\u053c\u13de\u1d38\u1e36\u1e38\u1e3a",
            "\u1e3c\u2112\u216c\u24c1\u2c60\u2c62\ua4e1\ua748\ua7ad\uff2c\U0001d40b\U0001d43f",
            "\U0001d473\U0001d4db\U0001d50f\U0001d543\U0001d577\U0001d5ab\U0001d5df\U0001d613",
            "\U0001d647\U0001d67b\U0001f13b\U0001f15b\U0001f17b\U0001f1f1"
        ] | join,
        "M": [
            "\u039c\u03fa\u041c\u13b7\u1d0d\u1d39\u1e3e\u1e40\u1e42\u2133\u216f\u24c2\u2c6e",
            "\u2c98\ua4df\uff2d\U0001d40c\U0001d440\U0001d474\U0001d4dc\U0001d510\U0001d544",
            "\U0001d578\U0001d5ac\U0001d5e0\U0001d614\U0001d648\U0001d67c\U0001d6b3\U0001d6ed",
            "\U0001d727\U0001d761\U0001d79b\U0001f13c\U0001f15c\U0001f17c\U0001f1f2"
        ] | join,
        "N": [
            "\u00d1\u0143\u0145\u0147\u019d\u01f8\u0220\u0274\u039d\u1d3a\u1e44\u1e46\u1e48",
            "\u1e4a\u2115\u24c3\u2c9a\ua4e0\ua790\ua7a4\uff2e\U0001d40d\U0001d441\U0001d475",
            "\U0001d4a9\U0001d4dd\U0001d511\U0001d579\U0001d5ad\U0001d5e1\U0001d615\U0001d649",
            "\U0001d67d\U0001d6b4\U0001d6ee\U0001d728\U0001d762\U0001d79c\U0001f13d\U0001f15d",
            "\U0001f17d\U0001f1f3"
        ] | join,
        "O": [
            "\u00d2\u00d3\u00d4\u00d5\u00d6\u00d8\u014c\u014e\u0150\u019f\u01a0\u01d1\u01ea",
            "\u01ec\u01fe\u020c\u020e\u022a\u022c\u022e\u0230\u038c\u039f\u041e\u04e6\u0555",
            "\u1d0f\u1d3c\u1e4c\u1e4e\u1e50\u1e52\u1ecc\u1ece\u1ed0\u1ed2\u1ed4\u1ed6\u1ed8",
            "\u1eda\u1edc\u1ede\u1ee0\u1ee2\u1f48\u1f49\u1f4a\u1f4b\u1f4c\u1f4d\u1ff8\u1ff9",
            "\u24c4\u2c9e\ua4f3\ua74a\ua74c\uff2f\U0001d40e\U0001d442\U0001d476\U0001d4aa",
            "\U0001d4de\U0001d512\U0001d546\U0001d57a\U0001d5ae\U0001d5e2\U0001d616\U0001d64a",
            "\U0001d67e\U0001d6b6\U0001d6f0\U0001d72a\U0001d764\U0001d79e\U0001f13e\U0001f15e",
            "\U0001f17e\U0001f1f4"
        ] | join,
        "P": [
            "\u01a4\u03a1\u0420\u13e2\u1d18\u1d3e\u1e54\u1e56\u1fec\u2119\u24c5\u2c63\u2ca2",
            "\ua4d1\ua750\ua752\ua754\uff30\U0001d40f\U0001d443\U0001d477\U0001d4ab\U0001d4df",
            "\U0001d513\U0001d57b\U0001d5af\U0001d5e3\U0001d617\U0001d64b\U0001d67f\U0001d6b8",
            "\U0001d6f2\U0001d72c\U0001d766\U0001d7a0\U0001f13f\U0001f15f\U0001f17f\U0001f1f5"
        ] | join,
        "Q": [
            "\u051a\u211a\u24c6\ua756\ua758\ua7af\ua7f4\uff31\U0001d410\U0001d444\U0001d478",
            "\U0001d4ac\U0001d4e0\U0001d514\U0001d57c\U0001d5b0\U0001d5e4\U0001d618\U0001d64c",
            "\U0001d680\U0001f140\U0001f160\U0001f180\U0001f1f6"
        ] | join,
        "R": [
            "\u0154\u0156\u0158\u0210\u0212\u024c\u0280\u13a1\u13d2\u1d3f\u1e58\u1e5a\u1e5c",
            "\u1e5e\u211b\u211c\u211d\u24c7\u2c64\ua4e3\ua7a6\uff32\U0001d411\U0001d445",
            "\U0001d479\U0001d4e1\U0001d57d\U0001d5b1\U0001d5e5\U0001d619\U0001d64d\U0001d681",
            "\U0001f12c\U0001f141\U0001f161\U0001f181\U0001f1f7"
        ] | join,
        "S": [
            "\u015a\u015c\u015e\u0160\u0218\u0405\u054f\u13da\u1e60\u1e62\u1e64\u1e66\u1e68",
            "\u24c8\u2c7e\ua4e2\ua731\ua7a8\ua7c5\ua7c9\uff33\U0001d412\U0001d446\U0001d47a",
            "\U0001d4ae\U0001d4e2\U0001d516\U0001d54a\U0001d57e\U0001d5b2\U0001d5e6\U0001d61a",
            "\U0001d64e\U0001d682\U0001f142\U0001f162\U0001f182\U0001f1f8"
        ] | join,
        "T": [
            "\u0162\u0164\u0166\u01ac\u01ae\u021a\u023e\u03a4\u0422\u13a2\u1d1b\u1d40\u1e6a",
            "\u1e6c\u1e6e\u1e70\u24c9\u2ca6\ua4d4\uff34\U0001d413\U0001d447\U0001d47b\U0001d4af",
            "\U0001d4e3\U0001d517\U0001d54b\U0001d57f\U0001d5b3\U0001d5e7\U0001d61b\U0001d64f",
            "\U0001d683\U0001d6bb\U0001d6f5\U0001d72f\U0001d769\U0001d7a3\U0001f143\U0001f163",
            "\U0001f183\U0001f1f9"
        ] | join,
        "U": [
            "\u00d9\u00da\u00db\u00dc\u0168\u016a\u016c\u016e\u0170\u0172\u01af\u01d3\u01d5",
            "\u01d7\u01d9\u01db\u0214\u0216\u054d\u1d1c\u1d41\u1e72\u1e74\u1e76\u1e78\u1e7a",
            "\u1ee4\u1ee6\u1ee8\u1eea\u1eec\u1eee\u1ef0\u24ca\ua4f4\ua7b8\uff35\U0001d414",
            "\U0001d448\U0001d47c\U0001d4b0\U0001d4e4\U0001d518\U0001d54c\U0001d580\U0001d5b4",
            "\U0001d5e8\U0001d61c\U0001d650\U0001d684\U0001f144\U0001f164\U0001f184\U0001f1fa"
        ] | join,
        "V": [
            "\u01b2\u0474\u0476\u13d9\u1d20\u1e7c\u1e7e\u2164\u24cb\u2c7d\ua4e6\ua75e\uff36",
            "\U0001d415\U0001d449\U0001d47d\U0001d4b1\U0001d4e5\U0001d519\U0001d54d\U0001d581",
            "\U0001d5b5\U0001d5e9\U0001d61d\U0001d651\U0001d685\U0001f145\U0001f165\U0001f185",
            "\U0001f1fb"
        ] | join,
        "W": [
            "\u0174\u051c\u13b3\u1d21\u1d42\u1e80\u1e82\u1e84\u1e86\u1e88\u24cc\u2c72\ua4ea",
            "\uff37\U0001d416\U0001d44a\U0001d47e\U0001d4b2\U0001d4e6\U0001d51a\U0001d54e",
            "\U0001d582\U0001d5b6\U0001d5ea\U0001d61e\U0001d652\U0001d686\U0001f146\U0001f166",
            "\U0001f186\U0001f1fc"
        ] | join,
        "X": [
            "\u03a7\u0425\u1e8a\u1e8c\u2169\u24cd\u2cac\ua4eb\uff38\U0001d417\U0001d44b",
            "\U0001d47f\U0001d4b3\U0001d4e7\U0001d51b\U0001d54f\U0001d583\U0001d5b7\U0001d5eb",
            "\U0001d61f\U0001d653\U0001d687\U0001d6be\U0001d6f8\U0001d732\U0001d76c\U0001d7a6",
            "\U0001f147\U0001f167\U0001f187\U0001f1fd"
        ] | join,
        "Y": [
            "\u00dd\u0176\u0178\u01b3\u0232\u024e\u028f\u038e\u03a5\u03ab\u03d2\u03d3\u03d4",
            "\u040e\u0423\u04ae\u04ee\u04f0\u04f2\u13a9\u1e8e\u1ef2\u1ef4\u1ef6\u1ef8\u1efe",
            "\u1f59\u1f5b\u1f5d\u1f5f\u1fe8\u1fe9\u1fea\u1feb\u24ce\u2ca8\ua4ec\uff39\U0001d418",
            "\U0001d44c\U0001d480\U0001d4b4\U0001d4e8\U0001d51c\U0001d550\U0001d584\U0001d5b8",
            "\U0001d5ec\U0001d620\U0001d654\U0001d688\U0001d6bc\U0001d6f6\U0001d730\U0001d76a",
            "\U0001d7a4\U0001f148\U0001f168\U0001f188\U0001f1fe"
        ] | join,
        "Z": [
            "\u0179\u017b\u017d\u01b5\u0224\u0396\u13c3\u1d22\u1e90\u1e92\u1e94\u2124\u2128",
            "\u24cf\u2c6b\u2c7f\ua4dc\ua7c6\uff3a\U0001d419\U0001d44d\U0001d481\U0001d4b5",
            "\U0001d4e9\U0001d585\U0001d5b9\U0001d5ed\U0001d621\U0001d655\U0001d689\U0001d6ad",
            "\U0001d6e7\U0001d721\U0001d75b\U0001d795\U0001f149\U0001f169\U0001f189\U0001f1ff"
        ] | join,
        "a": [
            "\u00aa\u00e0\u00e1\u00e2\u00e3\u00e4\u00e5\u0101\u0103\u0105\u01ce\u01df\u01e1",
            "\u01fb\u0201\u0203\u0227\u03ac\u03b1\u0430\u04d1\u04d3\u1d43\u1d8f\u1e01\u1e9a",
            "\u1ea1\u1ea3\u1ea5\u1ea7\u1ea9\u1eab\u1ead\u1eaf\u1eb1\u1eb3\u1eb5\u1eb7\u1f00",
            "\u1f01\u1f02\u1f03\u1f04\u1f05\u1f06\u1f07\u1f70\u1f71\u1f80\u1f81\u1f82\u1f83",
            "\u1f84\u1f85\u1f86\u1f87\u1fb0\u1fb1\u1fb2\u1fb3\u1fb4\u1fb6\u1fb7\u2090\u24d0",
            "\u2c65\uff41\U0001d41a\U0001d44e\U0001d482\U0001d4b6\U0001d4ea\U0001d51e\U0001d552",
            "\U0001d586\U0001d5ba\U0001d5ee\U0001d622\U0001d656\U0001d68a\U0001d6c2\U0001d6fc",
            "\U0001d736\U0001d770\U0001d7aa"
        ] | join,
        "b": [
            "\u0180\u0183\u0253\u03b2\u03d0\u0432\u1d47\u1d5d\u1d66\u1d6c\u1d80\u1e03\u1e05",
            "\u1e07\u24d1\ua797\uff42\U0001d41b\U0001d44f\U0001d483\U0001d4b7\U0001d4eb",
            "\U0001d51f\U0001d553\U0001d587\U0001d5bb\U0001d5ef\U0001d623\U0001d657\U0001d68b",
            "\U0001d6c3\U0001d6fd\U0001d737\U0001d771\U0001d7ab"
        ] | join,
        "c": [
            "\u00e7\u0107\u0109\u010b\u010d\u0188\u023c\u0255\u03f2\u0441\u1d9c\u1e09\u217d",
            "\u24d2\u2ca5\ua793\ua794\uff43\U0001d41c\U0001d450\U0001d484\U0001d4b8\U0001d4ec",
            "\U0001d520\U0001d554\U0001d588\U0001d5bc\U0001d5f0\U0001d624\U0001d658\U0001d68c",
            "\U0001df1d"
        ] | join,
        "d": [
            "\u010f\u0111\u018c\u0221\u0256\u0257\u0501\u1d48\u1d6d\u1d81\u1d91\u1e0b\u1e0d",
            "\u1e0f\u1e11\u1e13\u2146\u217e\u24d3\ua7c8\uff44\U0001d41d\U0001d451\U0001d485",
            "\U0001d4b9\U0001d4ed\U0001d521\U0001d555\U0001d589\U0001d5bd\U0001d5f1\U0001d625",
            "\U0001d659\U0001d68d"
        ] | join,
        "e": [
            "\u00e8\u00e9\u00ea\u00eb\u0113\u0115\u0117\u0119\u011b\u0205\u0207\u0229\u0247",
            "\u03ad\u03b5\u03f5\u0435\u0450\u0451\u04d7\u1d49\u1d92\u1e15\u1e17\u1e19\u1e1b",
            "\u1e1d\u1eb9\u1ebb\u1ebd\u1ebf\u1ec1\u1ec3\u1ec5\u1ec7\u1f10\u1f11\u1f12\u1f13",
            "\u1f14\u1f15\u1f72\u1f73\u2091\u212f\u2147\u24d4\u2c78\uab34\uff45\U0001d41e",
            "\U0001d452\U0001d486\U0001d4ee\U0001d522\U0001d556\U0001d58a\U0001d5be\U0001d5f2",
            "\U0001d626\U0001d65a\U0001d68e\U0001d6c6\U0001d6dc\U0001d700\U0001d716\U0001d73a",
            "\U0001d750\U0001d774\U0001d78a\U0001d7ae\U0001d7c4"
        ] | join,
        "f": [
            "\u0192\u1d6e\u1d82\u1da0\u1e1f\u24d5\ua799\ufb00\ufb01\ufb02\ufb03\ufb04\uff46",
            "\U0001d41f\U0001d453\U0001d487\U0001d4bb\U0001d4ef\U0001d523\U0001d557\U0001d58b",
            "\U0001d5bf\U0001d5f3\U0001d627\U0001d65b\U0001d68f"
        ] | join,
        "g": [
            "\u011d\u011f\u0121\u0123\u01e5\u01e7\u01f5\u0260\u0581\u1d4d\u1d83\u1e21\u210a",
            "\u24d6\ua7a1\uff47\U0001d420\U0001d454\U0001d488\U0001d4f0\U0001d524\U0001d558",
            "\U0001d58c\U0001d5c0\U0001d5f4\U0001d628\U0001d65c\U0001d690"
        ] | join,
        "h": [
            "\u0125\u0127\u021f\u0266\u02b0\u043d\u04bb\u0570\u1d78\u1e23\u1e25\u1e27\u1e29",
            "\u1e2b\u1e96\u2095\u210e\u24d7\u2c68\ua795\uff48\U0001d421\U0001d489\U0001d4bd",
            "\U0001d4f1\U0001d525\U0001d559\U0001d58d\U0001d5c1\U0001d5f5\U0001d629\U0001d65d",
            "\U0001d691"
        ] | join,
        "i": [
            "\u00ec\u00ed\u00ee\u00ef\u0129\u012b\u012d\u012f\u0131\u0133\u01d0\u0209\u020b",
            "\u0268\u0390\u03af\u03b9\u03ca\u0456\u0457\u04cf\u1d62\u1d96\u1e2d\u1e2f\u1ec9",
            "\u1ecb\u1f30\u1f31\u1f32\u1f33\u1f34\u1f35\u1f36\u1f37\u1f76\u1f77\u1fbe\u1fd0",
            "\u1fd1\u1fd2\u1fd3\u1fd6\u1fd7\u2071\u2139\u2148\u2170\u24d8\u2c93\uff49\U0001d422",
            "\U0001d456\U0001d48a\U0001d4be\U0001d4f2\U0001d526\U0001d55a\U0001d58e\U0001d5c2",
            "\U0001d5f6\U0001d62a\U0001d65e\U0001d692\U0001d6ca\U0001d704\U0001d73e\U0001d778",
            "\U0001d7b2\U0001df1a"
        ] | join,
        "j": [
            "\u0135\u01f0\u0237\u0249\u025f\u0284\u029d\u02b2\u03f3\u0458\u2149\u24d9\u2c7c",
            "\uff4a\U0001d423\U0001d457\U0001d48b\U0001d4bf\U0001d4f3\U0001d527\U0001d55b",
            "\U0001d58f\U0001d5c3\U0001d5f7\U0001d62b\U0001d65f\U0001d693"
        ] | join,
        "k": [
            "\u0137\u0199\u01e9\u03ba\u03f0\u043a\u045c\u1d4f\u1d84\u1e31\u1e33\u1e35\u2096",
            "\u24da\u2c6a\u2c95\ua741\ua743\ua745\ua7a3\uff4b\U0001d424\U0001d458\U0001d48c",
            "\U0001d4c0\U0001d4f4\U0001d528\U0001d55c\U0001d590\U0001d5c4\U0001d5f8\U0001d62c",
            "\U0001d660\U0001d694\U0001d6cb\U0001d6de\U0001d705\U0001d718\U0001d73f\U0001d752",
            "\U0001d779\U0001d78c\U0001d7b3\U0001d7c6"
        ] | join,
        "l": [
            "\u013a\u013c\u013e\u0140\u0142\u019a\u0234\u026b\u026c\u026d\u02e1\u1d85\u1e37",
            "\u1e39\u1e3b\u1e3d\u2097\u2113\u217c\u24db\u2c61\ua749\ua78e\uab37\uab38\uab39",
            "\uff4c\U0001d425\U0001d459\U0001d48d\U0001d4c1\U0001d4f5\U0001d529\U0001d55d",
            "\U0001d591\U0001d5c5\U0001d5f9\U0001d62d\U0001d661\U0001d695\U0001df11\U0001df13"
        ] | join,
        "m": [
            "\u0271\u043c\u1d50\u1d6f\u1d86\u1e3f\u1e41\u1e43\u2098\u217f\u24dc\u2c99\uab3a",
            "\uff4d\U0001d426\U0001d45a\U0001d48e\U0001d4c2\U0001d4f6\U0001d52a\U0001d55e",
            "\U0001d592\U0001d5c6\U0001d5fa\U0001d62e\U0001d662\U0001d696"
        ] | join,
        "n": [
            "\u00f1\u0144\u0146\u0148\u019e\u01f9\u0235\u0272\u0273\u03ae\u03b7\u0578\u1d70",
            "\u1d87\u1e45\u1e47\u1e49\u1e4b\u1f20\u1f21\u1f22\u1f23\u1f24\u1f25\u1f26\u1f27",
            "\u1f74\u1f75\u1f90\u1f91\u1f92\u1f93\u1f94\u1f95\u1f96\u1f97\u1fc2\u1fc3\u1fc4",
            "\u1fc6\u1fc7\u207f\u2099\u24dd\ua791\ua7a5\uab3b\uff4e\U0001d427\U0001d45b",
            "\U0001d48f\U0001d4c3\U0001d4f7\U0001d52b\U0001d55f\U0001d593\U0001d5c7\U0001d5fb",
            "\U0001d62f\U0001d663\U0001d697\U0001d6c8\U0001d702\U0001d73c\U0001d776\U0001d7b0"
        ] | join,
        "o": [
            "\u00ba\u00f2\u00f3\u00f4\u00f5\u00f6\u00f8\u014d\u014f\u0151\u01a1\u01d2\u01eb",
            "\u01ed\u01ff\u020d\u020f\u022b\u022d\u022f\u0231\u03bf\u03cc\u043e\u04e7\u0585",
            "\u1d52\u1e4d\u1e4f\u1e51\u1e53\u1ecd\u1ecf\u1ed1\u1ed3\u1ed5\u1ed7\u1ed9\u1edb",
            "\u1edd\u1edf\u1ee1\u1ee3\u1f40\u1f41\u1f42\u1f43\u1f44\u1f45\u1f78\u1f79\u2092",
            "\u2134\u24de\u2c7a\u2c9f\ua74b\ua74d\uff4f\U0001d428\U0001d45c\U0001d490\U0001d4f8",
            "\U0001d52c\U0001d560\U0001d594\U0001d5c8\U0001d5fc\U0001d630\U0001d664\U0001d698",
            "\U0001d6d0\U0001d70a\U0001d744\U0001d77e\U0001d7b8\U0001df1b"
        ] | join,
        "p": [
            "\u01a5\u03c1\u03f1\u0440\u1d56\u1d68\u1d71\u1d7d\u1d88\u1e55\u1e57\u1fe4\u1fe5",
            "\u209a\u24df\u2ca3\ua751\ua753\ua755\uff50\U0001d429\U0001d45d\U0001d491\U0001d4c5",
            "\U0001d4f9\U0001d52d\U0001d561\U0001d595\U0001d5c9\U0001d5fd\U0001d631\U0001d665",
            "\U0001d699\U0001d6d2\U0001d6e0\U0001d70c\U0001d71a\U0001d746\U0001d754\U0001d780",
            "\U0001d78e\U0001d7ba\U0001d7c8"
        ] | join,
        "q": [
            "\u024b\u02a0\u051b\u0566\u24e0\ua757\ua759\uff51\U000107a5\U0001d42a\U0001d45e",
            "\U0001d492\U0001d4c6\U0001d4fa\U0001d52e\U0001d562\U0001d596\U0001d5ca\U0001d5fe",
            "\U0001d632\U0001d666\U0001d69a"
        ] | join,
        "r": [
            "\u0155\u0157\u0159\u0211\u0213\u024d\u027c\u027d\u027e\u02b3\u1d63\u1d72\u1d73",
            "\u1d89\u1e59\u1e5b\u1e5d\u1e5f\u24e1\ua7a7\uab49\uff52\U0001d42b\U0001d45f",
            "\U0001d493\U0001d4c7\U0001d4fb\U0001d52f\U0001d563\U0001d597\U0001d5cb\U0001d5ff",
            "\U0001d633\U0001d667\U0001d69b\U0001df16"
        ] | join,
        "s": [
            "\u015b\u015d\u015f\u0161\u017f\u0219\u023f\u0282\u02e2\u0455\u1d74\u1d8a\u1e61",
            "\u1e63\u1e65\u1e67\u1e69\u1e9b\u209b\u24e2\ua7a9\ua7ca\ufb05\ufb06\uff53\U0001d42c",
            "\U0001d460\U0001d494\U0001d4c8\U0001d4fc\U0001d530\U0001d564\U0001d598\U0001d5cc",
            "\U0001d600\U0001d634\U0001d668\U0001d69c\U0001df1e"
        ] | join,
        "t": [
            "\u0163\u0165\u0167\u01ab\u01ad\u021b\u0236\u0288\u03c4\u0442\u1d57\u1d75\u1e6b",
            "\u1e6d\u1e6f\u1e71\u1e97\u209c\u24e3\u2c66\uff54\U0001d42d\U0001d461\U0001d495",
            "\U0001d4c9\U0001d4fd\U0001d531\U0001d565\U0001d599\U0001d5cd\U0001d601\U0001d635",
            "\U0001d669\U0001d69d\U0001d6d5\U0001d70f\U0001d749\U0001d783\U0001d7bd\U0001df09"
        ] | join,
        "u": [
            "\u00f9\u00fa\u00fb\u00fc\u0169\u016b\u016d\u016f\u0171\u0173\u01b0\u01d4\u01d6",
            "\u01d8\u01da\u01dc\u0215\u0217\u03b0\u03c5\u03cb\u03cd\u057d\u1d58\u1d64\u1d99",
            "\u1e73\u1e75\u1e77\u1e79\u1e7b\u1ee5\u1ee7\u1ee9\u1eeb\u1eed\u1eef\u1ef1\u1f50",
            "\u1f51\u1f52\u1f53\u1f54\u1f55\u1f56\u1f57\u1f7a\u1f7b\u1fe0\u1fe1\u1fe2\u1fe3",
            "\u1fe6\u1fe7\u24e4\ua7b9\uab4e\uab52\uff55\U0001d42e\U0001d462\U0001d496\U0001d4ca",
            "\U0001d4fe\U0001d532\U0001d566\U0001d59a\U0001d5ce\U0001d602\U0001d636\U0001d66a",
            "\U0001d69e\U0001d6d6\U0001d710\U0001d74a\U0001d784\U0001d7be"
        ] | join,
        "v": [
            "\u028b\u03bd\u0475\u0477\u1d5b\u1d65\u1d8c\u1e7d\u1e7f\u2174\u24e5\u2c71\u2c74",
            "\ua75f\uff56\U0001d42f\U0001d463\U0001d497\U0001d4cb\U0001d4ff\U0001d533\U0001d567",
            "\U0001d59b\U0001d5cf\U0001d603\U0001d637\U0001d66b\U0001d69f\U0001d6ce\U0001d708",
            "\U0001d742\U0001d77c\U0001d7b6"
        ] | join,
        "w": [
            "\u0175\u02b7\u051d\u1e81\u1e83\u1e85\u1e87\u1e89\u1e98\u24e6\u2c73\uff57\U0001d430",
            "\U0001d464\U0001d498\U0001d4cc\U0001d500\U0001d534\U0001d568\U0001d59c\U0001d5d0",
            "\U0001d604\U0001d638\U0001d66c\U0001d6a0"
        ] | join,
        "x": [
            "\u02e3\u03c7\u0445\u1d61\u1d6a\u1d8d\u1e8b\u1e8d\u2093\u2179\u24e7\u2cad\uab56",
            "\uab57\uab58\uab59\uff58\U0001d431\U0001d465\U0001d499\U0001d4cd\U0001d501",
            "\U0001d535\U0001d569\U0001d59d\U0001d5d1\U0001d605\U0001d639\U0001d66d\U0001d6a1",
            "\U0001d6d8\U0001d712\U0001d74c\U0001d786\U0001d7c0"
        ] | join,
        "y": [
            "\u00fd\u00ff\u0177\u01b4\u0233\u024f\u02b8\u03b3\u0443\u045e\u04af\u04ef\u04f1",
            "\u04f3\u1d5e\u1d67\u1e8f\u1e99\u1ef3\u1ef5\u1ef7\u1ef9\u1eff\u213d\u24e8\uab5a",
            "\uff59\U0001d432\U0001d466\U0001d49a\U0001d4ce\U0001d502\U0001d536\U0001d56a",
            "\U0001d59e\U0001d5d2\U0001d606\U0001d63a\U0001d66e\U0001d6a2\U0001d6c4\U0001d6fe",
            "\U0001d738\U0001d772\U0001d7ac"
        ] | join,
        "z": [
            "\u017a\u017c\u017e\u01b6\u0225\u0240\u0290\u0291\u03b6\u1d76\u1d8e\u1dbb\u1e91",
            "\u1e93\u1e95\u24e9\u2c6c\uff5a\U0001d433\U0001d467\U0001d49b\U0001d4cf\U0001d503",
            "\U0001d537\U0001d56b\U0001d59f\U0001d5d3\U0001d607\U0001d63b\U0001d66f\U0001d6a3",
            "\U0001d6c7\U0001d701\U0001d73b\U0001d775\U0001d7af"
        ] | join
    }) }}
{% endmacro %}


{#- Signs that read as a colon. -#}
{% macro colons_beyond_ascii() %}
    {{ return("\u02d0\u0589\u05c3\u2236\ua789\ufe13\ufe30\ufe55\uff1a") }}
{% endmacro %}


{#- A text whose letters, colons and dashes beyond ASCII are those that they read as; of the same
    length, so that what is found in it is cut from the original. -#}
{% macro with_plain_letters(column) -%}
    {%- set dashes = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d" -%}
    {%- set letters = look_alikes() -%}
    case
        -- Nearly every text is ASCII, and a translation is slow.
        when bit_length({{ column }}) = 8 * length({{ column }}) then {{ column }}
        else
            translate(
                {{ column }},
                '{{ letters.values() | join }}{{ colons_beyond_ascii() }}{{ dashes }}',
                '
                {%- for letter, characters in letters.items() %}{{ letter * characters | length }}{% endfor -%}
                {{ ':' * colons_beyond_ascii() | length }}{{ '-' * dashes | length }}'
            )
    end
{%- endmacro %}


{#- Code points of characters that have no width, in which a heading could be hidden: the default
    ignorable ones of Unicode's first plane. -#}
{% macro code_points_of_no_width() %}
    {{ return([
        173, 847, 1564, 4447, 4448, 6068, 6069, 6155, 6156, 6157, 6158, 6159, 8203, 8204,
        8205, 8206, 8207, 8234, 8235, 8236, 8237, 8238, 8288, 8289, 8290, 8291, 8292,
        8293, 8294, 8295, 8296, 8297, 8298, 8299, 8300, 8301, 8302, 8303, 12644, 65024,
        65025, 65026, 65027, 65028, 65029, 65030, 65031, 65032, 65033, 65034, 65035,
        65036, 65037, 65038, 65039, 65279, 65440
    ]) }}
{% endmacro %}
